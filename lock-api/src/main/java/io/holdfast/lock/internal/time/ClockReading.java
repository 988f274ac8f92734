package io.holdfast.lock.internal.time;

/**
 * A reading of both clocks ({@link Clocks#read}), taken before a request is sent to the store; the
 * answer counts from it. If the wall clock were read after the answer, a machine that slept while
 * the request was on its way would take an old answer for a new one.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos how far the wall clock was ahead of the monotonic clock; only differences
 *     have a meaning
 */
public record ClockReading(long nanos, long wallAheadNanos) {}
