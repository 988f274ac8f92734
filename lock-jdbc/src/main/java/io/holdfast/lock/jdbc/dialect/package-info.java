/**
 * The SQL of each database, one class each; {@code Dialect} has what all of them spell alike. Not
 * exported.
 *
 * <p>Three rules hold for all of them. Time is the database's own, in microseconds since 1970 and
 * independent of the session's time zone. A statement that takes a lock, or that works on several
 * locks, skips locked rows instead of waiting. The text of a statement varies only with the length
 * of a list, so that drivers can keep it prepared.
 *
 * <p>Read {@link io.holdfast.lock.jdbc.dialect.Dialect} first, which says what each statement does,
 * then {@code Template}, the texts that each database spells in its own way, and one of these:
 * {@link io.holdfast.lock.jdbc.dialect.Postgres} or {@link io.holdfast.lock.jdbc.dialect.MySql}.
 * {@code Sql} is a statement with named parameters.
 */
@NullMarked
package io.holdfast.lock.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
