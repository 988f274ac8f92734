/**
 * The connections of a client: how they are borrowed from the user's pool, watched and given back.
 * Not exported.
 *
 * <p>Read {@link io.holdfast.lock.jdbc.connection.Database} first, which runs each statement, then
 * {@link io.holdfast.lock.jdbc.connection.Lender}, which lends it the connection. There are two
 * lenders. {@link io.holdfast.lock.jdbc.connection.Pool} borrows through {@code PoolWatch}, so that
 * neither an exhausted pool nor a dead database costs more than the deadline.
 * {@link io.holdfast.lock.jdbc.connection.OwnConnection} is the connection that the client keeps
 * for itself.
 */
@NullMarked
package io.holdfast.lock.jdbc.connection;

import org.jspecify.annotations.NullMarked;
