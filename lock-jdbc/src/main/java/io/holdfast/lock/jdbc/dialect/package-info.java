/**
 * The SQL of each database: one class each, every statement spelled out. Not exported.
 *
 * <p>Three rules hold in all of them. Time is the database's own, in microseconds since 1970, and
 * independent of the session's time zone. A statement that works for several locks, and each that
 * takes a lock, skips rows that somebody has locked instead of waiting. The text of a statement
 * never varies but for the length of a list, so that drivers can keep it prepared.
 */
@NullMarked
package io.holdfast.lock.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
