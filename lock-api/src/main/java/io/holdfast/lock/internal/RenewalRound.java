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

  /** @param tenures of one group, at least one: either all are extended or none */
  RenewalRound(LockStore store, TimeSource time, List<Tenure> tenures) {
    this.store = store;
    this.time = time;
    this.tenures = tenures;
  }

  void run() {
    flight.begin();
    if (tenures.get(0).renewal().extendsLease()) {
      extend();
    } else {
      verify();
    }
    flight.end();
    if (flight.shouldCommit()) {
      flight.leases = tenures.size();
      flight.commit();
    }
  }

  private void extend() {
    Moment asked = Moment.now(time);
    try {
      List<Renewal> results = store.renew(tenures.stream().map(Tenure::grant).toList());
      if (results.size() != tenures.size()) {
        throw StoreException.unanswered(
            "The store answered about " + results.size() + " of " + tenures.size() + " leases",
            null);
      }
      for (int i = 0; i < tenures.size(); i++) {
        settle(tenures.get(i), results.get(i), asked);
      }
    } catch (StoreException | RuntimeException | Error e) {
      unanswered(tenures, e);
    }
  }

  /** One after the other, until the store does not answer. */
  private void verify() {
    for (int i = 0; i < tenures.size(); i++) {
      Tenure tenure = tenures.get(i);
      Moment asked = Moment.now(time);
      try {
        Optional<Duration> left = store.verify(tenure.grant());
        settle(
            tenure, left.isPresent() ? new Renewal.Renewed(left.get()) : new Renewal.Lost(), asked);
      } catch (StoreException | RuntimeException | Error e) {
        unanswered(tenures.subList(i, tenures.size()), e);
        return;
      }
    }
  }

  private void settle(Tenure tenure, Renewal result, Moment asked) {
    if (result instanceof Renewal.Renewed renewed) {
      flight.confirmed++;
      tenure.renewal().answered(asked.nanos(), Nanos.of(renewed.validFor()));
      if (!tenure.confirmed(asked, renewed.validFor())) {
        tenure.renewal().doubted();
      }
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

  private void unanswered(List<Tenure> unsettled, Throwable cause) {
    log.warn(
        "{} lock lease(s), among them '{}', could not be renewed; we try again until they end",
        unsettled.size(),
        unsettled.get(0).line().key().name(),
        cause);
    unsettled.forEach(this::unanswered);
  }

  private void unanswered(Tenure tenure) {
    flight.unanswered++;
    tenure.renewal().unanswered();
    tenure.unanswered();
  }
}
