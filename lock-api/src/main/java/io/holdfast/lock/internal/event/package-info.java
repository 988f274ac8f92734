/**
 * Telling others: listeners, loss callbacks, Flight Recorder. Read
 * {@link io.holdfast.lock.internal.event.Events}, then
 * {@link io.holdfast.lock.internal.event.Callbacks}, which runs user code on threads of its own.
 */
@NullMarked
package io.holdfast.lock.internal.event;

import org.jspecify.annotations.NullMarked;
