/**
 * The interface that a store implements, and nothing that a user of locks needs.
 *
 * <p>A backend consists of a {@link io.holdfast.lock.spi.LockStore} and a
 * {@link io.holdfast.lock.LockClientBuilder} that opens it. The engine does everything that is the
 * same on every store: ownership, reentrancy, waiting within a client, renewal, deadlines and
 * events. A store implements its protocol and nothing else. Begin with
 * {@link io.holdfast.lock.spi.LockStore}; the kit {@code lock-tck} tests what it promises.
 */
@NullMarked
package io.holdfast.lock.spi;

import org.jspecify.annotations.NullMarked;
