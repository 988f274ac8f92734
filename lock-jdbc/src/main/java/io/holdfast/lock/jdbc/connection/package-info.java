/**
 * The connections of a client: how they are borrowed from the user's pool, watched and given back.
 * Not exported.
 *
 * <p>Read {@link io.holdfast.lock.jdbc.connection.Database} first, which runs each statement, and
 * {@link io.holdfast.lock.jdbc.connection.Lender}, where it has the connection from: from
 * {@link io.holdfast.lock.jdbc.connection.Pool}, which borrows through {@code PoolWatch}, so that
 * an exhausted pool and a dead database are waited for in vain no longer than the deadline, or from
 * {@link io.holdfast.lock.jdbc.connection.OwnConnection}, which the client keeps for itself.
 */
@NullMarked
package io.holdfast.lock.jdbc.connection;

import org.jspecify.annotations.NullMarked;
