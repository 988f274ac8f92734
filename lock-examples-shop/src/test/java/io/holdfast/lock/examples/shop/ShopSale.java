package io.holdfast.lock.examples.shop;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/**
 * The program behind {@code dev/shop}: two instances sell all tickets of an event. One is frozen
 * while it has the lock, until the other has sold a ticket; later one is killed while it has the
 * lock. Then two more instances sell without the lock.
 */
final class ShopSale implements AutoCloseable {
  private static final int TICKETS = 100;
  private static final Duration PAYMENT = Duration.ofMillis(100);
  private static final Duration WAIT_MAX = Duration.ofSeconds(90);
  private static final int POLL_MILLIS = 20;
  private static final Pattern LOST = Pattern.compile("(?m)^holdfast_lock_lost_total.* (\\S+)$");

  private final PrintStream out;
  private final String event;
  private final Instance first;
  private final Instance second;

  private ShopSale(PrintStream out, Database database, String event, String... properties)
      throws Exception {
    this.out = out;
    this.event = event;
    // One after the other: Hibernate makes the tables.
    this.first = Instance.start("shop-1", database, properties);
    this.second = Instance.start("shop-2", database, properties);
    first.web().open(event, TICKETS);
    say("The shop is open, with %d tickets: %s and %s", TICKETS, address(first), address(second));
  }

  /** Arguments: {@code h2} or {@code postgres}; perhaps {@code stay}. */
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    boolean isShown;
    try (Database database = args[0].equals("h2") ? Database.h2() : Database.postgres()) {
      if (args.length > 1) {
        stay(out, database);
      }
      isShown = withTheLock(out, database) && withoutTheLock(out, database);
    }
    System.exit(isShown ? 0 : 1);
  }

  /** Returns whether each ticket was sold once, whatever happened to the instances. */
  static boolean withTheLock(PrintStream out, Database database) throws Exception {
    String[] properties = {
      "--shop.payment=" + PAYMENT.toMillis() + "ms",
      // Short, so that the lock of one who is gone is free soon.
      "--holdfast.ttl=3s",
      "--holdfast.store-timeout=1s"
    };
    try (ShopSale sale = new ShopSale(out, database, "rock-night", properties);
        Customers customers = sale.customers()) {
      sale.awaitSold(TICKETS / 3);
      sale.freezeOne();
      sale.awaitSold(TICKETS * 2 / 3);
      Instance survivor = sale.killOne();
      customers.awaitSoldOut(WAIT_MAX);
      int sold = survivor.web().sold(sale.event);
      sale.tell(customers, sold);
      return sold == TICKETS && customers.tickets() == TICKETS && customers.different() == TICKETS;
    }
  }

  /** Returns whether too many tickets were sold. */
  static boolean withoutTheLock(PrintStream out, Database database) throws Exception {
    out.println("The same without the lock (holdfast.enabled=false), and without harm:");
    try (ShopSale sale = new ShopSale(out, database, "jazz-night", "--holdfast.enabled=false");
        Customers customers = sale.customers()) {
      customers.awaitSoldOut(WAIT_MAX);
      int sold = sale.first.web().sold(sale.event);
      sale.tell(customers, sold);
      return sold > TICKETS;
    }
  }

  /** Lets you look at it, and buy. */
  private static void stay(PrintStream out, Database database) throws Exception {
    try (ShopSale sale = new ShopSale(out, database, "rock-night")) {
      sale.say("It stays open until Ctrl-C. For example:");
      sale.say(
          "  curl -X POST -H 'Idempotency-Key: 1' %s/events/rock-night/tickets",
          address(sale.second));
      for (String path : List.of(
          "events/rock-night", "actuator/health", "actuator/locks", "actuator/prometheus")) {
        sale.say("  curl %s/%s", address(sale.first), path);
      }
      Thread.sleep(Long.MAX_VALUE);
    }
  }

  private Customers customers() {
    return Customers.of(event, List.of(first.web(), second.web()));
  }

  private void tell(Customers customers, int sold) {
    say(
        "  Sold: %d of %d. Customers have %d tickets, %d of them different; they repeated %d requests.",
        sold, TICKETS, customers.tickets(), customers.different(), customers.repeated());
  }

  private void awaitSold(int count) throws Exception {
    long untilNanos = System.nanoTime() + WAIT_MAX.toNanos();
    while (first.web().sold(event) < count) {
      sleepUntil(untilNanos);
    }
  }

  /** Freezes one that has the lock until the other has sold a ticket, and awaits its loss. */
  private void freezeOne() throws Exception {
    Instance frozen = freezeHolder();
    Instance other = other(frozen);
    say("  %s has the lock, and is frozen (SIGSTOP)", frozen.name());
    long frozenNanos = System.nanoTime();
    long untilNanos = frozenNanos + WAIT_MAX.toNanos();
    int soldBefore = other.web().sold(event);
    while (other.web().sold(event) == soldBefore) {
      sleepUntil(untilNanos);
    }
    say(
        "  %s sold the next ticket %.1f s later; %s wakes up",
        other.name(), (System.nanoTime() - frozenNanos) / 1e9, frozen.name());
    frozen.wake();
    while (lost(frozen) == 0) {
      sleepUntil(untilNanos);
    }
    say("  %s lost its lock: its holdfast_lock_lost_total is %.0f", frozen.name(), lost(frozen));
  }

  /** Kills one that has the lock, and returns the other. */
  private Instance killOne() throws Exception {
    Instance killed = freezeHolder();
    killed.kill();
    say("  %s has the lock, and is killed (SIGKILL)", killed.name());
    return other(killed);
  }

  /**
   * Freezes one that has the lock and whose customer pays: it has not written anything yet. Who has
   * it changes all the time, so this looks once more when it is frozen.
   */
  private Instance freezeHolder() throws Exception {
    long untilNanos = System.nanoTime() + WAIT_MAX.toNanos();
    while (true) {
      Instance candidate = has(first, lock(second)) ? first : second;
      candidate.freeze();
      Instant frozenAt = Instant.now();
      JsonNode lock = lock(other(candidate));
      if (has(candidate, lock)
          && Instant.parse(lock.get("since").asString()).plus(PAYMENT).isAfter(frozenAt)) {
        return candidate;
      }
      candidate.wake();
      sleepUntil(untilNanos);
    }
  }

  /** The lock as an instance's endpoint shows it; without fields if nobody has it. */
  private JsonNode lock(Instance instance) throws Exception {
    return Web.json(instance.web().get("/actuator/locks?prefix=tickets/" + event))
        .path("locks")
        .path(0);
  }

  private static boolean has(Instance instance, JsonNode lock) {
    return lock.path("holder").asString("").contains(instance.name());
  }

  private static double lost(Instance instance) throws Exception {
    Matcher lost = LOST.matcher(instance.web().get("/actuator/prometheus").body());
    double sum = 0;
    while (lost.find()) {
      sum += Double.parseDouble(lost.group(1));
    }
    return sum;
  }

  private Instance other(Instance instance) {
    return instance == first ? second : first;
  }

  private static String address(Instance instance) {
    return instance.web().address().toString();
  }

  private static void sleepUntil(long untilNanos) throws InterruptedException {
    if (System.nanoTime() - untilNanos > 0) {
      throw new IllegalStateException("Nothing happened for " + WAIT_MAX.toSeconds() + " s");
    }
    Thread.sleep(POLL_MILLIS);
  }

  private void say(String format, Object... arguments) {
    out.printf(Locale.ROOT, format + "%n", arguments);
  }

  @Override
  public void close() {
    first.close();
    second.close();
  }
}
