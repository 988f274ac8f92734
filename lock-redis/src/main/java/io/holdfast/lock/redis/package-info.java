/**
 * Locks in Redis and Valkey. Start with {@link io.holdfast.lock.redis.RedisLocks}.
 *
 * <p>{@link io.holdfast.lock.redis.RedisGuard} makes writes to Redis conditional on a lease, so
 * that a stale holder can't make them.
 */
// The packages below are not exported. They refer to each other in one direction: store and quorum,
// the two protocols, know nothing of each other, and both use server. Read them from server up.
@NullMarked
package io.holdfast.lock.redis;

import org.jspecify.annotations.NullMarked;
