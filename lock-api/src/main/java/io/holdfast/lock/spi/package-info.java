/**
 * The interface that a store implements, and nothing that a user of locks needs.
 *
 * <p>A backend consists of a {@link io.holdfast.lock.spi.LockStore} and a
 * {@link io.holdfast.lock.LockClientBuilder} that opens it; with semaphores, of a
 * {@link io.holdfast.lock.spi.PermitStore} and a {@link io.holdfast.lock.SemaphoreClientBuilder}.
 * Ownership, reentrancy, local waiting, renewal, deadlines and events are the engine's: a store
 * holds its protocol and nothing else.
 */
@NullMarked
package io.holdfast.lock.spi;

import org.jspecify.annotations.NullMarked;
