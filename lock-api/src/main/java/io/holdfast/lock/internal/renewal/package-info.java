/**
 * Renewal: the thread that keeps a client's grants, and a request that renews some of them. Read
 * the overview in {@link io.holdfast.lock.internal.renewal.Keeper}.
 */
@NullMarked
package io.holdfast.lock.internal.renewal;

import org.jspecify.annotations.NullMarked;
