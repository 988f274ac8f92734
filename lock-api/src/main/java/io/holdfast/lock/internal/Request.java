package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;

/** A caller's request for a lock, and how long it waits for it. */
record Request(LockKey key, Claim.Mode mode, LockOptions options, WaitMode waitMode) {}
