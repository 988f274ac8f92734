/** The engine's log. */
@NullMarked
package io.holdfast.lock.internal.log;

import org.jspecify.annotations.NullMarked;
