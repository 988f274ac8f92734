/**
 * The SQL of each database, and what it must be like. Not exported.
 *
 * <p>To see a statement as it is sent, open the database's file in
 * {@code lock-jdbc/src/test/resources/io/holdfast/lock/jdbc/sent}; {@code SentTest} compares them.
 *
 * <p>To see how it is made, read {@link io.holdfast.lock.jdbc.dialect.Dialect} first, which says
 * what each statement does; then {@code LockStatement}, which lists the statements that all
 * databases have; then the {@code Texts} of one, which has what it spells in its own way.
 * {@link io.holdfast.lock.jdbc.dialect.Postgres} and its like are what runs otherwise there.
 * {@code Sql} is a statement with named parameters, and sends it.
 *
 * <p>Three rules hold for all of them. Time is the database's own, in microseconds since 1970 and
 * independent of the session's time zone. A statement that takes a lock, or that works on several
 * locks, does not wait for locked rows: it skips them, or fails at once; only the first use of a
 * name can wait for another one at the same time, and a reader of a lock for others. The text of a
 * statement varies only with the length of a list, with autocommit and with a limit of its wait, so
 * that drivers can keep it prepared.
 */
@NullMarked
package io.holdfast.lock.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
