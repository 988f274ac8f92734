package io.holdfast.lock.internal.time;

/**
 * A reading of both clocks ({@link Clocks#read}). Taken before a question is sent to the store, it
 * is what the answer counts from. Were the wall clock read after the answer, a machine that slept
 * while the question was on its way would take an old answer for a new one.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos the distance by which the wall clock was ahead of it; only differences mean
 *     something
 */
public record ClockReading(long nanos, long wallAheadNanos) {}
