/**
 * The threads of one client that want the same name: who holds it, who asks the store for it, and
 * who waits. Read the overview in {@link io.holdfast.lock.internal.queue.WaitQueue}, then
 * {@link io.holdfast.lock.internal.queue.Hold} and {@link io.holdfast.lock.internal.queue.Waiter}.
 */
@NullMarked
package io.holdfast.lock.internal.queue;

import org.jspecify.annotations.NullMarked;
