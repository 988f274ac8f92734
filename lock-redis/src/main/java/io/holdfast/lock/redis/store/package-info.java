/**
 * The protocol on one server, Sentinel or a Cluster, and its waiters: locks with a line, first
 * come, first served. Read {@link io.holdfast.lock.redis.store.RedisStore} first, then
 * {@code QueueTicket}, a place in line, and {@code Inbox}, by which it hears of its turn. Not
 * exported.
 */
@NullMarked
package io.holdfast.lock.redis.store;

import org.jspecify.annotations.NullMarked;
