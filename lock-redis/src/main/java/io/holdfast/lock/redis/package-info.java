/**
 * Locks in Redis and Valkey. Begin at {@link io.holdfast.lock.redis.RedisLocks}.
 *
 * <p>{@link io.holdfast.lock.redis.RedisGuard} is a write that a stale holder can't make.
 */
@NullMarked
package io.holdfast.lock.redis;

import org.jspecify.annotations.NullMarked;
