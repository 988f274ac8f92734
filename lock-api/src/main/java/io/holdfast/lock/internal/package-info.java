/**
 * The engine: everything about a lock that means the same on every store. Not exported.
 *
 * <p>Read the overview in {@link io.holdfast.lock.internal.EngineClient}, then
 * {@link io.holdfast.lock.internal.Attempt} and {@link io.holdfast.lock.internal.Settlement}: how a
 * lease begins and ends. The mechanism is in the packages below, which know nothing of this one.
 */
@NullMarked
package io.holdfast.lock.internal;

import org.jspecify.annotations.NullMarked;
