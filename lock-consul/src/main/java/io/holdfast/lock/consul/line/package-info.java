/**
 * The keys of one lock, and what they prove. Read {@link io.holdfast.lock.consul.line.Mark}, which
 * is what is written under a key, then {@link io.holdfast.lock.consul.line.Line}. Keys whose
 * sessions have ended are waited out by {@link io.holdfast.lock.consul.line.LineCleanup}, and by
 * {@link io.holdfast.lock.consul.line.Countdown} for clients that can't stay. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.line;

import org.jspecify.annotations.NullMarked;
