package io.holdfast.lock.internal;

import io.holdfast.lock.HeldLock;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.PermitHolder;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The requests to the store that users make other than acquire and release: about their own leases,
 * and about any lock.
 */
final class Questions {
  private static final int LIST_LIMIT_MAX = 10_000;

  private final Parts parts;
  private final Settlement settlement;

  Questions(Parts parts, Settlement settlement) {
    this.parts = parts;
    this.settlement = settlement;
  }

  // About a lease

  /** Asks the store whether a grant is valid; false if it is over. */
  boolean verify(ActiveGrant grant) {
    if (grant.state().isOver()) {
      return false;
    }
    try {
      // Asked again if the machine slept, or the grant became uncertain, while the request was on
      // its way.
      while (true) {
        ClockReading asked = parts.time().read();
        Optional<Duration> left = ask(grant.key(), () -> parts.store().verify(grant.grant()));
        if (left.isEmpty()) {
          grant.lose(LeaseLoss.Reason.TAKEN);
          return false;
        } else if (grant.verified(asked, left.get())
            && (grant.stands() || grant.state().isOver())) {
          return !grant.state().isOver();
        }
      }
    } catch (Throwable e) { // An Error thrown by the store is no answer either.
      grant.unanswered();
      throw e;
    }
  }

  /** Whether a grant is valid; asks the store only if the wall clock casts doubt on it. */
  boolean standsOrVerify(ActiveGrant grant) {
    while (!grant.stands()) {
      if (grant.state().isOver()) {
        return false;
      } else if (grant.state().phase() == Phase.SUSPECT) {
        return verify(grant);
      }
      // A renewal was answered since the check above.
    }
    return true;
  }

  /** Extends a fixed lease to that time from now; false if it is over. */
  boolean extend(ActiveGrant grant, Duration ttl) {
    if (grant.state().isOver()) {
      return false;
    }
    grant.extending(ttl);
    ClockReading asked = parts.time().read();
    Optional<Duration> validFor = ask(grant.key(), () -> parts.store().extend(grant.grant(), ttl));
    if (validFor.isEmpty()) {
      grant.lose(LeaseLoss.Reason.TAKEN);
      return false;
    }
    if (!grant.extended(asked, ttl, validFor.get()) && !verify(grant)) {
      return false;
    }
    // The keeper must look anew: the lease may have to be confirmed before its former end.
    parts.keeper().requestScan();
    settlement.renewed(grant);
    return standsOrVerify(grant);
  }

  /**
   * Renews a grant that was handed over and has not been renewed since, for its whole TTL; false if
   * it is over.
   */
  boolean confirm(ActiveGrant grant) {
    return !grant.schedule().isHandedOver() || extend(grant, grant.options().ttl());
  }

  // About a lock

  Optional<LockHolder> inspect(LockKey key) {
    return ask(key, () -> parts.store().inspect(key))
        .map(holder -> Holder.of(key, holder, OptionalInt.empty()));
  }

  List<LockHolder> readers(ReadWriteStore store, LockKey key) {
    return ask(key, () -> store.readers(key)).stream()
        .<LockHolder>map(holder -> Holder.of(key, holder, OptionalInt.empty()))
        .toList();
  }

  List<PermitHolder> holders(PermitStore store, LockKey key) {
    return ask(key, () -> store.holders(key)).stream()
        .<PermitHolder>map(held -> Permit.of(key, held))
        .toList();
  }

  boolean forceRelease(LockKey key, long token) {
    if (token <= 0) {
      throw new IllegalArgumentException(
          "A token is positive, this one is " + token + ": take that of a holder");
    }
    long grantNumber = Token.grantNumber(token);
    boolean released = ask(key, () -> parts.store().forceRelease(key, grantNumber));
    if (released) {
      for (WaitQueue queue : parts.queues().of(key)) {
        ActiveGrant grant = queue.grant();
        if (grant != null && grant.grant().number() == grantNumber) {
          grant.lose(LeaseLoss.Reason.TAKEN);
        }
      }
    }
    return released;
  }

  List<HeldLock> list(String namePrefix, int limit) {
    if (limit < 1 || limit > LIST_LIMIT_MAX) {
      throw new IllegalArgumentException(
          "A list has 1 to " + LIST_LIMIT_MAX + " locks, not " + limit);
    }
    if (!namePrefix.isEmpty()) {
      LockKey.checkName(namePrefix);
    }
    parts.requireOpen("");
    List<StoredLock> stored;
    try {
      stored =
          StoreCalls.callUninterrupted(() -> parts.store().list(LockKind.MUTEX, namePrefix, limit));
    } catch (StoreException e) {
      throw new LockStoreException(
          "", "The store gave no usable answer about its locks: " + e.getMessage(), e);
    }
    List<HeldLock> held = new ArrayList<>(stored.size());
    for (StoredLock lock : stored) {
      held.add(Holder.of(lock.key(), lock.holder(), lock.waiting()));
    }
    held.sort(Comparator.comparing(HeldLock::name));
    return held;
  }

  private <T> T ask(LockKey key, StoreCalls.Call<T> question) {
    parts.requireOpen(key.name());
    try {
      return StoreCalls.callUninterrupted(question);
    } catch (StoreException e) {
      throw StoreCalls.failure(key, e);
    }
  }

  /** A holder, with the number of waiters where that was asked for. */
  private record Holder(
      String name,
      long token,
      String description,
      Instant since,
      Duration remaining,
      boolean isReleased,
      OptionalInt waiting)
      implements HeldLock {
    static HeldLock of(LockKey key, StoredHolder holder, OptionalInt waiting) {
      return new Holder(
          key.name(),
          Token.of(holder.number(), 0),
          holder.description(),
          holder.since(),
          holder.remaining(),
          holder.released(),
          waiting);
    }
  }

  /** The holder of a permit. */
  private record Permit(
      String name,
      long token,
      int permit,
      String description,
      Instant since,
      Duration remaining,
      boolean isReleased)
      implements PermitHolder {
    static PermitHolder of(LockKey key, StoredPermit held) {
      StoredHolder holder = held.holder();
      return new Permit(
          key.name(),
          Token.of(holder.number(), 0),
          held.permit(),
          holder.description(),
          holder.since(),
          holder.remaining(),
          holder.released());
    }
  }
}
