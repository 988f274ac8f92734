/**
 * Locks in a SQL database. Start with {@link io.holdfast.lock.jdbc.JdbcLocks}.
 *
 * <p>Besides leases there are {@link io.holdfast.lock.jdbc.JdbcGuard}, which makes a transaction
 * conditional on a lease, {@link io.holdfast.lock.jdbc.TransactionLock}, a row lock that ends with
 * your transaction, and {@link io.holdfast.lock.jdbc.Fenced}, an update that a stale writer can't
 * make.
 */
@NullMarked
package io.holdfast.lock.jdbc;

import org.jspecify.annotations.NullMarked;
