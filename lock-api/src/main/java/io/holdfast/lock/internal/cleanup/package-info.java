/**
 * Making up in the background for calls that the store did not answer. Read
 * {@link io.holdfast.lock.internal.cleanup.Cleanup}.
 */
@NullMarked
package io.holdfast.lock.internal.cleanup;

import org.jspecify.annotations.NullMarked;
