package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request that asks the store about a group of tenures, and what follows from its answer. */
final class RenewalRound {
  private static final Logger log = LoggerFactory.getLogger(RenewalRound.class);

  private final LockStore store;
  private final TimeSource time;
  private final List<Tenure> tenures;
  private final Flight.Renewed flight = new Flight.Renewed();

  /** @param tenures of one group, possibly none; a tenure that is not extended comes alone */
  RenewalRound(LockStore store, TimeSource time, List<Tenure> tenures) {
    this.store = store;
    this.time = time;
    this.tenures = tenures;
  }

  void run() {
    if (tenures.isEmpty()) {
      return;
    }
    flight.begin();
    long sentAtNanos = time.nanos();
    try {
      List<Renewal> results =
          tenures.get(0).renewal().extendsLease() ? extend() : List.of(verify(tenures.get(0)));
      for (int i = 0; i < tenures.size(); i++) {
        settle(tenures.get(i), results.get(i), sentAtNanos);
      }
    } catch (StoreException | RuntimeException e) {
      log.warn(
          "{} lock lease(s), among them '{}', could not be renewed; we try again until they end",
          tenures.size(),
          tenures.get(0).line().key().name(),
          e);
      tenures.forEach(this::unanswered);
    }
    flight.end();
    if (flight.shouldCommit()) {
      flight.leases = tenures.size();
      flight.commit();
    }
  }

  private List<Renewal> extend() throws StoreException {
    List<Renewal> results = store.renew(tenures.stream().map(Tenure::grant).toList());
    if (results.size() != tenures.size()) {
      throw StoreException.unanswered(
          "The store answered about " + results.size() + " of " + tenures.size() + " leases", null);
    }
    return results;
  }

  private Renewal verify(Tenure tenure) throws StoreException {
    Optional<Duration> left = store.verify(tenure.grant());
    return left.isPresent() ? new Renewal.Renewed(left.get()) : new Renewal.Lost();
  }

  private void settle(Tenure tenure, Renewal result, long sentAtNanos) {
    if (result instanceof Renewal.Renewed renewed) {
      flight.confirmed++;
      tenure.confirmed(sentAtNanos, renewed.validFor());
      tenure.renewal().answered(sentAtNanos);
    } else if (result instanceof Renewal.Lost) {
      flight.lost++;
      tenure.lose(LeaseLoss.Reason.TAKEN);
    } else if (result instanceof Renewal.Unknown unknown) {
      log.warn(
          "The lease of lock '{}' could not be renewed; we try again until it ends",
          tenure.line().key().name(),
          unknown.cause());
      unanswered(tenure);
    }
  }

  private void unanswered(Tenure tenure) {
    flight.unanswered++;
    tenure.renewal().unanswered();
    tenure.unanswered();
  }
}
