package io.holdfast.lock.schedule;

import io.holdfast.lock.internal.time.DriftAllowance;
import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A store with one name, which expires by its own clock.
 *
 * <p>Its clock jumps ahead by no more than the drift allowance in total while anything that it
 * promised runs: for each promise (a grant, a renewal, an extension; a verification where the
 * session lives on by it), from when it was carried out to its end, the jumps add up to at most
 * {@code allowance(promised) - what else eats of it}. What else may: the clocks' rates (at most 0.1
 * % each), and, in schedules in which machines are suspended, half of the allowance and 3 ms: so
 * much of the suspensions since a promise need not make anybody doubt it. They may be longer, and
 * as many as you like: then they show.
 */
final class ModelStore {
  private static final long MILLIONTHS = 1_000_000;
  private static final long GRAIN_NANOS = 3_000_000;
  private static final long ROUNDING_NANOS = 2_000;
  private static final int PROMISES = 24;

  private final Flaw flaw;
  private final int ratePpm;

  /** By how much a client's clock can fall behind this one because of their rates. */
  private final int ratesPpm;

  private final boolean suspensions;
  private long clockNanos = 5_000_000_000_000_000L;

  private @Nullable Claim owner;
  private int ownerIndex;
  private long number;
  private long untilNanos;
  private boolean released;

  private final long[] sessionUntilNanos = new long[2];

  /** The claims that wait, by client. */
  private final @Nullable Claim[] waiting = new Claim[2];

  /** The last question that each asked from there. */
  private final long[] waitingSince = new long[2];

  private final long[] promiseEndNanos = new long[PROMISES];
  private final long[] promiseJumpNanosMax = new long[PROMISES];
  private int promises;
  private long jumpedNanos;

  ModelStore(Flaw flaw, int ratePpm, int ratesPpm, boolean suspensions) {
    this.flaw = flaw;
    this.ratePpm = ratePpm;
    this.ratesPpm = ratesPpm;
    this.suspensions = suspensions;
  }

  void pass(long worldNanos) {
    clockNanos += worldNanos + worldNanos * ratePpm / MILLIONTHS;
  }

  long clockNanos() {
    return clockNanos;
  }

  // Promises and jumps

  private void promise(long forNanos) {
    for (int i = 0; i < promises; i++) {
      if (promiseEndNanos[i] - clockNanos <= 0) {
        promises--;
        promiseEndNanos[i] = promiseEndNanos[promises];
        promiseJumpNanosMax[i] = promiseJumpNanosMax[promises];
        i--;
      }
    }
    if (promises == PROMISES) {
      // Too many to keep apart: no more jumps.
      promiseJumpNanosMax[0] = Long.MIN_VALUE / 2;
      promiseEndNanos[0] = Long.MAX_VALUE / 2;
      return;
    }
    long allowance = DriftAllowance.ofNanos(forNanos);
    long forJumps = allowance
        - forNanos / MILLIONTHS * ratesPpm
        - (suspensions ? allowance / 2 + GRAIN_NANOS : 0)
        - ROUNDING_NANOS;
    if (flaw == Flaw.STORE_JUMPS_TOO_FAR) {
      forJumps = 3 * allowance;
    }
    promiseEndNanos[promises] = clockNanos + forNanos;
    promiseJumpNanosMax[promises] = jumpedNanos + forJumps;
    promises++;
  }

  /** By how much its clock may jump ahead now. */
  long jumpNanosMax() {
    long max = Long.MAX_VALUE;
    for (int i = 0; i < promises; i++) {
      if (promiseEndNanos[i] - clockNanos > 0) {
        max = Math.min(max, promiseJumpNanosMax[i] - jumpedNanos);
      }
    }
    return max == Long.MAX_VALUE ? 0 : Math.max(0, max);
  }

  void jump(long byNanos) {
    clockNanos += byNanos;
    jumpedNanos += byNanos;
  }

  // The name

  /** The time until it is free if nothing is done. */
  long takenForNanos(long sessionNanos) {
    return owner == null ? 0 : endNanos(sessionNanos) - clockNanos;
  }

  int ownerIndex() {
    return ownerIndex;
  }

  private long endNanos(long sessionNanos) {
    return sessionNanos == 0 || released
        ? untilNanos
        : Math.min(untilNanos, sessionUntilNanos[ownerIndex]);
  }

  private boolean stands(Request request) {
    ModelGrant grant = request.grant;
    return owner != null
        && !released
        && grant != null
        && owner.ownerId().equals(grant.claim().ownerId())
        && number == grant.number();
  }

  /**
   * Carries a request out.
   *
   * @param ownersSessionNanos how long the session of who has the lock lives; 0: there are none
   * @param toldNanosMax how much of a session's time the store is sure enough of to tell
   * @return the index of a waiting client that the lock was handed over to; -1: none
   */
  int carryOut(Request request, long ownersSessionNanos, long toldNanosMax, long handedOverNanos) {
    if (owner != null && endNanos(ownersSessionNanos) - clockNanos <= 0) {
      owner = null;
    }
    Client client = request.client;
    if (client.sessionNanos() > 0) {
      sessionUntilNanos[client.index()] = clockNanos + client.sessionNanos();
    }
    boolean wasTaken = owner != null;
    switch (request.kind) {
      case ACQUIRE, POLL -> {
        boolean mine = isSame(owner, request.claim);
        boolean inLine =
            request.kind == Request.Kind.ACQUIRE || isSame(waiting[client.index()], request.claim);
        if ((inLine && owner == null) || (mine && !released)) {
          request.answer = Request.Answer.YES;
          if (!mine) {
            begin(request.claim, client.index());
          }
          waiting[client.index()] = null;
          untilNanos = clockNanos + request.ttlNanos;
          request.validForNanos = told(request.ttlNanos, toldNanosMax);
          promise(request.validForNanos);
          request.grant =
              new ModelGrant(request.claim, number, Duration.ofNanos(request.validForNanos));
          return -1;
        }
        waiting[client.index()] = request.claim;
        waitingSince[client.index()] = request.sentNumber;
        request.answer = Request.Answer.QUEUED;
      }
      case RENEW -> {
        if (flaw == Flaw.RENEWAL_REVIVES && request.grant != null && !released) {
          owner = request.grant.claim();
          ownerIndex = client.index();
          number = Math.max(number, request.grant.number());
        }
        boolean stands = stands(request) || (flaw == Flaw.RENEWAL_REVIVES && owner != null);
        request.answer = stands ? Request.Answer.YES : Request.Answer.NO;
        if (stands) {
          untilNanos = clockNanos + request.ttlNanos;
          request.validForNanos = told(request.ttlNanos, toldNanosMax);
          promise(request.validForNanos);
        }
      }
      case EXTEND -> {
        boolean stands = stands(request);
        request.answer = stands ? Request.Answer.YES : Request.Answer.NO;
        if (stands) {
          untilNanos = Math.max(untilNanos, clockNanos + request.ttlNanos);
          // Stores differ in what they tell of an extension that changed nothing.
          long leftNanos =
              (request.sentNumber & 1) == 0 ? untilNanos - clockNanos : request.ttlNanos;
          request.validForNanos = told(leftNanos, toldNanosMax);
          promise(request.validForNanos);
        }
      }
      case VERIFY -> {
        boolean stands = stands(request);
        request.answer = stands ? Request.Answer.YES : Request.Answer.NO;
        if (stands) {
          request.validForNanos = told(untilNanos - clockNanos, toldNanosMax);
          if (client.sessionNanos() > 0) {
            promise(request.validForNanos);
          }
        }
      }
      case RELEASE -> {
        boolean stands = stands(request);
        request.answer = stands ? Request.Answer.YES : Request.Answer.NO;
        if (stands || flaw == Flaw.RELEASE_BY_NAME) {
          released = true;
          untilNanos = clockNanos + request.ttlNanos;
          if (request.ttlNanos == 0) {
            owner = null;
          }
        }
      }
      case WITHDRAW -> {
        request.answer = Request.Answer.YES;
        if (isSame(waiting[client.index()], request.claim)) {
          waiting[client.index()] = null;
        }
        if (isSame(owner, request.claim) && !released) {
          owner = null;
        }
      }
      case NEWS -> throw new AssertionError("News is no request");
    }
    int other = 1 - client.index();
    return wasTaken && owner == null && waiting[other] != null && handedOverNanos > 0 ? other : -1;
  }

  private static boolean isSame(@Nullable Claim kept, Claim claim) {
    return kept != null && kept.ownerId().equals(claim.ownerId());
  }

  private static long told(long leftNanos, long toldNanosMax) {
    return toldNanosMax == 0 ? leftNanos : Math.min(leftNanos, toldNanosMax);
  }

  private void begin(Claim claim, int index) {
    owner = claim;
    ownerIndex = index;
    released = false;
    number = flaw == Flaw.NUMBERS_START_ANEW ? 1 : number + 1;
  }

  /** Gives the lock to a client that waits, for so long; the news is on its way. */
  ModelGrant handOver(int index, long forNanos) {
    Claim claim = Objects.requireNonNull(waiting[index]);
    waiting[index] = null;
    begin(claim, index);
    untilNanos = clockNanos + forNanos;
    promise(forNanos);
    return new ModelGrant(claim, number, Duration.ofNanos(forNanos));
  }

  /** The last question of the client that the lock was just handed over to. */
  long lastQuestion(int index) {
    return waitingSince[index];
  }
}
