package io.holdfast.lock.schedule;

import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.spi.Claim;
import org.jspecify.annotations.Nullable;

/**
 * A request on its way: sent, carried out or lost, answered or given up, in this order or with the
 * last two the other way round.
 */
final class Request {
  enum Kind {
    ACQUIRE,
    POLL,
    /** No request, but the store's news of a lock that it handed over. */
    NEWS,
    RENEW,
    VERIFY,
    EXTEND,
    RELEASE,
    WITHDRAW
  }

  enum Answer {
    /** The lock is the asker's, or was until now. */
    YES,
    NO,
    /** It stands in the store's queue. */
    QUEUED
  }

  final Kind kind;
  final Client client;
  final Claim claim;
  final ClockReading asked;
  final long sentNumber;

  /** For a grant. */
  @Nullable
  ModelGrant grant;

  @Nullable
  ActiveGrant active;

  /** To be given back; null: nobody waits for that. */
  @Nullable
  Hold hold;

  long ttlNanos;

  /** Of news: the question that it came after. */
  long lastQuestion;

  boolean carriedOut;

  /** The client is done with it. */
  boolean ended;

  @Nullable
  Answer answer;

  long validForNanos;

  Request(Kind kind, Client client, Claim claim, ClockReading asked, long sentNumber) {
    this.kind = kind;
    this.client = client;
    this.claim = claim;
    this.asked = asked;
    this.sentNumber = sentNumber;
  }

  @Override
  public String toString() {
    return kind + " #" + sentNumber + " of " + client;
  }
}
