/**
 * Locks in a SQL database. Begin at {@link io.holdfast.lock.jdbc.JdbcLocks}.
 *
 * <p>Beside leases there are the two older ways: {@link io.holdfast.lock.jdbc.TransactionLock}, a
 * row lock that ends with your transaction, and {@link io.holdfast.lock.jdbc.Fenced}, a write that
 * a stale writer can't make.
 */
@NullMarked
package io.holdfast.lock.jdbc;

import org.jspecify.annotations.NullMarked;
