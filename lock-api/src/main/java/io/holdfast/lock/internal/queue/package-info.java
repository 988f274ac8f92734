/**
 * The threads of one client that want the same name: the holder, the leader, which asks the store
 * for it, and those that wait. Read the overview in
 * {@link io.holdfast.lock.internal.queue.WaitQueue}, then
 * {@link io.holdfast.lock.internal.queue.Hold} and {@link io.holdfast.lock.internal.queue.Waiter}.
 */
@NullMarked
package io.holdfast.lock.internal.queue;

import org.jspecify.annotations.NullMarked;
