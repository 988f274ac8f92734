/**
 * A ShedLock provider over distributed locks. Start with
 * {@link io.holdfast.lock.shedlock.HoldfastLockProvider}.
 */
@NullMarked
package io.holdfast.lock.shedlock;

import org.jspecify.annotations.NullMarked;
