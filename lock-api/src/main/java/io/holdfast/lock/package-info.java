/**
 * Distributed locks: at most one holder at a time, across all JVMs that share a store.
 *
 * <p>Start with the class for your store ({@code JdbcLocks}, for example, or
 * {@link io.holdfast.lock.InMemoryLocks} in unit tests). Its builder makes a
 * {@link io.holdfast.lock.LockClient}. The client returns
 * {@linkplain io.holdfast.lock.DistributedLock locks} by name, and acquiring a lock returns a
 * {@link io.holdfast.lock.Lease}.
 *
 * <p>The interfaces are for calling, not for implementing: methods may be added. Implement only
 * {@link io.holdfast.lock.LockListener}, {@link io.holdfast.lock.LeaseAction} and
 * {@link io.holdfast.lock.LeaseFunction}.
 */
@NullMarked
package io.holdfast.lock;

import org.jspecify.annotations.NullMarked;
