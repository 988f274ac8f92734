/**
 * Clocks: until when an answer of the store is good. Read
 * {@link io.holdfast.lock.internal.time.ClockReading}, then
 * {@link io.holdfast.lock.internal.time.Validity}, which holds the rule of all deadlines.
 */
@NullMarked
package io.holdfast.lock.internal.time;

import org.jspecify.annotations.NullMarked;
