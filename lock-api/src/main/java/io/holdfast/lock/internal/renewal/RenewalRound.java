package io.holdfast.lock.internal.renewal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.event.JfrEvents;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** One request to the store about a group of grants, and the handling of its answer. */
final class RenewalRound {
  private static final SafeLogger log = SafeLogger.of(RenewalRound.class);

  private final LockStore store;
  private final Clocks time;
  private final List<ActiveGrant> grants;
  private final Consumer<ActiveGrant> onRenewed;
  private final JfrEvents.Renewed jfrEvent = new JfrEvents.Renewed();

  /** The index of the first grant that has no answer yet. */
  private int unsettled;

  /** @param grants at least one, all of one group: either all are to be extended or none */
  RenewalRound(
      LockStore store, Clocks time, List<ActiveGrant> grants, Consumer<ActiveGrant> onRenewed) {
    this.store = store;
    this.time = time;
    this.grants = grants;
    this.onRenewed = onRenewed;
  }

  void run() {
    jfrEvent.begin();
    try {
      if (grants.get(0).schedule().extendsLease()) {
        extend();
      } else {
        verify();
      }
    } catch (Throwable e) { // Whatever a store throws means that it gave no usable answer.
      unanswered(e);
    }
    jfrEvent.end();
    if (jfrEvent.shouldCommit()) {
      jfrEvent.leases = grants.size();
      jfrEvent.commit();
    }
  }

  private void extend() throws StoreException {
    List<Grant> asked = storesGrants();
    ClockReading askedAt = time.read();
    List<Renewal> results = store.renew(asked);
    if (results.size() != asked.size()) {
      throw wrongNumber(results, asked);
    }
    for (; unsettled < grants.size(); unsettled++) {
      settle(grants.get(unsettled), results.get(unsettled), askedAt);
    }
  }

  private List<Grant> storesGrants() {
    List<Grant> all = new ArrayList<>(grants.size());
    for (ActiveGrant grant : grants) {
      all.add(grant.grant());
    }
    return all;
  }

  private static StoreException wrongNumber(List<?> results, List<Grant> asked) {
    return StoreException.unanswered(
        "The store answered about " + results.size() + " of " + asked.size() + " leases", null);
  }

  private void settle(ActiveGrant grant, Renewal result, ClockReading asked) {
    if (result instanceof Renewal.Renewed renewed) {
      grant.schedule().answered(asked.nanos(), Nanos.of(renewed.validFor()));
      confirmed(grant, grant.renewed(asked, renewed.validFor()));
      onRenewed.accept(grant);
    } else if (result instanceof Renewal.Lost) {
      lost(grant);
    } else {
      unanswered(grant);
      log.warn(
          "The lease of lock '{}' could not be renewed; we try again until it ends",
          grant.key().name(),
          result instanceof Renewal.Unknown unknown ? unknown.cause() : result);
    }
  }

  /** Verifies the grants, as many at once as the store likes, until it does not answer. */
  private void verify() throws StoreException {
    List<Grant> all = storesGrants();
    while (unsettled < grants.size()) {
      List<Grant> asked = all.subList(unsettled, all.size());
      ClockReading askedAt = time.read();
      List<Optional<Duration>> results = store.verifyAll(asked);
      if (results.isEmpty() || results.size() > asked.size()) {
        throw wrongNumber(results, asked);
      }
      for (Optional<Duration> left : results) {
        settle(grants.get(unsettled), left, askedAt);
        unsettled++;
      }
    }
  }

  private void settle(ActiveGrant grant, Optional<Duration> left, ClockReading asked) {
    if (left.isPresent()) {
      grant.schedule().answered(asked.nanos(), Nanos.of(left.get()));
      confirmed(grant, grant.verified(asked, left.get()));
    } else {
      lost(grant);
    }
  }

  private void confirmed(ActiveGrant grant, boolean settled) {
    jfrEvent.confirmed++;
    if (!settled) {
      grant.schedule().askAtOnce();
    }
  }

  private void lost(ActiveGrant grant) {
    jfrEvent.lost++;
    grant.lose(LeaseLoss.Reason.TAKEN);
  }

  private void unanswered(Throwable cause) {
    String name = grants.get(Math.min(unsettled, grants.size() - 1)).key().name();
    int count = grants.size() - unsettled;
    for (; unsettled < grants.size(); unsettled++) {
      unanswered(grants.get(unsettled));
    }
    log.warn(
        "{} lock lease(s), among them '{}', could not be renewed; we try again until they end",
        count,
        name,
        cause);
  }

  private void unanswered(ActiveGrant grant) {
    jfrEvent.unanswered++;
    grant.schedule().unanswered();
    grant.unanswered();
  }
}
