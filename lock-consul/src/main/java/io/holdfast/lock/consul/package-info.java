/**
 * Locks in Consul. Start with {@link io.holdfast.lock.consul.ConsulLocks}.
 *
 * <p>{@link io.holdfast.lock.consul.ConsulGuard} makes your own key-value transaction conditional
 * on a lease, so that a stale holder can't carry it out.
 */
// The packages below are not exported. They refer to each other in one direction: store to session,
// session to line, and all of them to http. Read them from http up to store.
@NullMarked
package io.holdfast.lock.consul;

import org.jspecify.annotations.NullMarked;
