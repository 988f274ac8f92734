/**
 * Scripts, how they get to the server that has their keys, and what the answers mean. Both
 * protocols use them: nothing here waits for a lock. Not exported.
 *
 * <p>Read {@link io.holdfast.lock.redis.server.Server} first, which runs each script, then
 * {@link io.holdfast.lock.redis.server.Call}, a script with its arguments, and
 * {@link io.holdfast.lock.redis.server.Reply}, its answer. {@code Delivery} sends a call on until
 * it is answered: over the user's pool, over {@link io.holdfast.lock.redis.server.OwnConnection},
 * and once more by {@link io.holdfast.lock.redis.server.Hedging}.
 * {@link io.holdfast.lock.redis.server.Primaries} says where to. The texts of scripts are beside
 * {@code Script}; key.lua says what a key holds.
 */
@NullMarked
package io.holdfast.lock.redis.server;

import org.jspecify.annotations.NullMarked;
