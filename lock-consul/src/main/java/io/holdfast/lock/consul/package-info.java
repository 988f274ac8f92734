/**
 * Locks in Consul. Start with {@link io.holdfast.lock.consul.ConsulLocks}.
 *
 * <p>{@link io.holdfast.lock.consul.ConsulGuard} makes your own key-value transaction conditional
 * on a lease, so that a stale holder can't carry it out.
 */
// The packages below, none of them exported, refer to each other in one direction: fair to session,
// that to line, and all to http. Read them from the bottom up.
@NullMarked
package io.holdfast.lock.consul;

import org.jspecify.annotations.NullMarked;
