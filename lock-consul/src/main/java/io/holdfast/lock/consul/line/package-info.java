/**
 * The keys of one lock, and what they prove. Read {@link io.holdfast.lock.consul.line.Mark}, the
 * value of a key, then {@link io.holdfast.lock.consul.line.Line}.
 * {@link io.holdfast.lock.consul.line.LineCleanup} ends keys whose sessions have ended once their
 * time is over; a {@link io.holdfast.lock.consul.line.Countdown} measures that time for clients
 * that can't stay, and {@link io.holdfast.lock.consul.line.WitnessedEnds} tells where it has passed
 * already. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.line;

import org.jspecify.annotations.NullMarked;
