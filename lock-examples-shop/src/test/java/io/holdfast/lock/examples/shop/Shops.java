package io.holdfast.lock.examples.shop;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Two instances of the shop that sell the tickets of one event. */
final class Shops implements AutoCloseable {
  static final Duration WAIT_MAX = Duration.ofSeconds(90);
  static final Duration PAYMENT = Duration.ofMillis(100);
  private static final int POLL_MILLIS = 20;

  final String event;
  final Instance first;
  final Instance second;

  private Shops(String event, Instance first, Instance second) {
    this.event = event;
    this.first = first;
    this.second = second;
  }

  /** Starts both, one after the other, since Hibernate makes the tables. */
  static Shops open(Database database, String event, int tickets, String... properties)
      throws Exception {
    Instance first = Instance.start("shop-1", database, properties);
    try {
      Shops shops = new Shops(event, first, Instance.start("shop-2", database, properties));
      first.web().open(event, tickets);
      return shops;
    } catch (Exception e) {
      first.close();
      throw e;
    }
  }

  Customers customers() {
    return Customers.of(event, List.of(first.web(), second.web()));
  }

  Instance other(Instance instance) {
    return instance == first ? second : first;
  }

  void awaitSold(int count) throws Exception {
    await(() -> first.web().sold(event) >= count);
  }

  /** Waits until an instance has seen one more ticket sold. */
  void awaitNextSale(Instance instance) throws Exception {
    int before = instance.web().sold(event);
    await(() -> instance.web().sold(event) > before);
  }

  /**
   * Freezes an instance that has the lock, in which others wait for it. Its customer is paying, so
   * nothing is written yet. The holder changes all the time, so it is read again when the instance
   * is frozen.
   */
  Instance freezeHolder() throws Exception {
    Instance[] frozen = new Instance[1];
    await(() -> {
      Instance candidate = has(first, lock(second)) ? first : second;
      // One of those who wait may have the lock by the time that it is frozen.
      if (metric(candidate, "holdfast_lock_waiting_seconds_count") < 2) {
        return false;
      }
      candidate.freeze();
      Instant frozenAt = Instant.now();
      JsonNode lock = lock(other(candidate));
      if (has(candidate, lock)
          && Instant.parse(lock.get("since").asString()).plus(PAYMENT).isAfter(frozenAt)) {
        frozen[0] = candidate;
        return true;
      }
      candidate.wake();
      return false;
    });
    return frozen[0];
  }

  /** Returns the lock as an instance's endpoint shows it; without fields if nobody has it. */
  JsonNode lock(Instance instance) throws Exception {
    return Web.json(instance.web().get("/actuator/locks?prefix=tickets/" + event))
        .path("locks")
        .path(0);
  }

  static boolean has(Instance instance, JsonNode lock) {
    return lock.path("holder").asString("").contains(instance.name());
  }

  /** Returns the number of leases that an instance has lost. */
  static double lost(Instance instance) throws Exception {
    return metric(instance, "holdfast_lock_lost_total");
  }

  /** Returns the sum of an instance's series of a metric. */
  private static double metric(Instance instance, String name) throws Exception {
    Matcher series = Pattern.compile("(?m)^" + name + "\\{.* (\\S+)$")
        .matcher(instance.web().get("/actuator/prometheus").body());
    return series.results().mapToDouble(one -> Double.parseDouble(one.group(1))).sum();
  }

  static void await(Callable<Boolean> condition) throws Exception {
    long untilNanos = System.nanoTime() + WAIT_MAX.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - untilNanos > 0) {
        throw new IllegalStateException("Nothing happened for " + WAIT_MAX.toSeconds() + " s");
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  @Override
  public void close() {
    first.close();
    second.close();
  }
}
