/**
 * Locks in Consul. Start with {@link io.holdfast.lock.consul.ConsulLocks}.
 *
 * <p>{@link io.holdfast.lock.consul.ConsulGuard} makes your own key-value transaction conditional
 * on a lease, so that a stale holder can't carry it out.
 */
// For maintainers: the packages below, none of which is exported, refer to each other in one
// direction. The classes of fair and classic use session, session uses line, and all use http.
// Read them from the bottom up.
@NullMarked
package io.holdfast.lock.consul;

import org.jspecify.annotations.NullMarked;
