/**
 * The protocol on a quorum: several independent servers, of which a majority must grant a lock.
 * Read {@link io.holdfast.lock.redis.quorum.QuorumStore} first, then {@code Voter}, one server, and
 * {@code Votes}, what the servers answered to a question. Not exported.
 */
@NullMarked
package io.holdfast.lock.redis.quorum;

import org.jspecify.annotations.NullMarked;
