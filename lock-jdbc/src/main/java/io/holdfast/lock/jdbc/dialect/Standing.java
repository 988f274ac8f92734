package io.holdfast.lock.jdbc.dialect;

/**
 * A lock and its line as they were read.
 *
 * @param row the lock
 * @param waiter the owner id of the waiter that was asked for; empty: it has no place
 * @param ahead the number of waiters in the line before that one; all of them, if it has no place
 * @param inLine whether that one is in the line; else it has no place, or its turn has been
 */
public record Standing(Row row, String waiter, int ahead, boolean inLine) {}
