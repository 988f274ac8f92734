/**
 * Locks in Redis and Valkey. Start with {@link io.holdfast.lock.redis.RedisLocks}.
 *
 * <p>{@link io.holdfast.lock.redis.RedisGuard} makes writes to Redis conditional on a lease, so
 * that a stale holder can't make them.
 */
@NullMarked
package io.holdfast.lock.redis;

import org.jspecify.annotations.NullMarked;
