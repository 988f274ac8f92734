/**
 * The store's protocol, and its waiters: locks with a line, first come, first served. Read
 * {@link io.holdfast.lock.consul.store.ConsulStore}, then
 * {@link io.holdfast.lock.consul.store.ConsulTicket}. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.store;

import org.jspecify.annotations.NullMarked;
