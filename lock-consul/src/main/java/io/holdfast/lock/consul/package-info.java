/**
 * Locks in Consul. Start with {@link io.holdfast.lock.consul.ConsulLocks}.
 *
 * <p>{@link io.holdfast.lock.consul.ConsulGuard} makes your own key-value transaction conditional
 * on a lease, so that a stale holder can't carry it out.
 */
// For those who change it: the packages below, of which none is exported, refer to each other in
// one
// direction: fair to session, that to line, and all to http. Read them from the bottom
// up.
@NullMarked
package io.holdfast.lock.consul;

import org.jspecify.annotations.NullMarked;
