/**
 * Locks in Consul.
 *
 * <p>Start at {@link io.holdfast.lock.consul.ConsulLocks}.
 * {@link io.holdfast.lock.consul.ConsulGuard} makes your own key-value transaction conditional on a
 * lease.
 */
@NullMarked
package io.holdfast.lock.consul;

import org.jspecify.annotations.NullMarked;
