package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;

/**
 * A caller's request for a lock.
 *
 * @param permits the lock's number of permits; 1 for a mutex
 */
record Request(LockKey key, int permits, LockOptions options, WaitMode mode) {}
