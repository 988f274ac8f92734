/**
 * The SQL of each database, and what it must be like. Not exported.
 *
 * <p>Three rules hold for all of them. Time is the database's own, in microseconds since 1970 and
 * independent of the session's time zone. A statement that takes a lock, or that works on several
 * locks, skips locked rows instead of waiting. The text of a statement varies only with the length
 * of a list, so that drivers can keep it prepared.
 *
 * <p>Read {@link io.holdfast.lock.jdbc.dialect.Dialect} first, which says what each statement does,
 * then {@code LockStatement}, the statements that all databases have, and the {@code Texts} of one,
 * what it spells in its own way. {@link io.holdfast.lock.jdbc.dialect.Postgres} and its like are
 * what runs otherwise there. {@code Sql} is a statement with named parameters. Each statement as it
 * is sent is in a file that {@code SentTest} keeps.
 */
@NullMarked
package io.holdfast.lock.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
