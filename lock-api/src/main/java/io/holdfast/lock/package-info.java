/**
 * Locks that at most one holder has at a time, over all JVMs that share a store.
 *
 * <p>Start from the class of your store ({@code JdbcLocks}, or
 * {@link io.holdfast.lock.InMemoryLocks} in unit tests): its builder makes a
 * {@link io.holdfast.lock.LockClient}, that one gives {@linkplain io.holdfast.lock.DistributedLock
 * locks} by name, and a lock gives {@linkplain io.holdfast.lock.Lease leases}.
 *
 * <p>Users call these interfaces and do not implement them: methods may be added.
 */
@NullMarked
package io.holdfast.lock;

import org.jspecify.annotations.NullMarked;
