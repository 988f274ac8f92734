package io.holdfast.lock.examples.shop;

import java.io.PrintStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/**
 * The program of {@code dev/shop}: two instances sell all tickets of an event. One is frozen while
 * it has the lock, until the other has sold a ticket; later one is killed while it has the lock.
 * Then an operator frees the lock of a frozen one, and stops one. At last two instances sell
 * without the lock.
 */
final class ShopSale {
  private static final int TICKETS = 100;
  private static final int STATUS_OF_SIGTERM = 143;

  private final PrintStream out;
  private final Shops shops;

  private ShopSale(PrintStream out, Shops shops) {
    this.out = out;
    this.shops = shops;
    say(
        "The shop is open, with %d tickets: %s and %s",
        TICKETS, address(shops.first), address(shops.second));
  }

  /** Arguments: {@code h2} or {@code postgres}; perhaps {@code stay}. */
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    boolean isShown;
    try (Database database = args[0].equals("h2") ? Database.h2() : Database.postgres()) {
      if (args.length > 1) {
        stay(out, database);
      }
      isShown = withTheLock(out, database)
          && withAnOperator(out, database)
          && withoutTheLock(out, database);
    }
    System.exit(isShown ? 0 : 1);
  }

  /** Returns whether each ticket was sold once, whatever happened to the instances. */
  static boolean withTheLock(PrintStream out, Database database) throws Exception {
    String[] properties = {
      payment(),
      // Short, so that the lock of one who is gone is free soon.
      "--holdfast.ttl=3s",
      "--holdfast.store-timeout=1s"
    };
    try (Shops shops = Shops.open(database, "rock-night", TICKETS, properties);
        Customers customers = shops.customers()) {
      ShopSale sale = new ShopSale(out, shops);
      shops.awaitSold(TICKETS / 3);
      sale.freezeOne();
      shops.awaitSold(TICKETS * 2 / 3);
      return sale.isRight(customers, sale.killOne());
    }
  }

  /**
   * Returns whether each ticket was sold once, though an operator frees the lock of one instance
   * and stops one. Nobody waits for a TTL: it is longer than all deadlines.
   */
  static boolean withAnOperator(PrintStream out, Database database) throws Exception {
    out.println("The same with a TTL of five minutes, and with an operator:");
    String[] properties = {
      payment(),
      "--holdfast.ttl=5m",
      "--management.endpoint.health.show-details=always",
      "--management.endpoint.locks.access=unrestricted",
      "--holdfast.actuator.force-release=true"
    };
    try (Shops shops = Shops.open(database, "opera-night", TICKETS, properties);
        Customers customers = shops.customers()) {
      ShopSale sale = new ShopSale(out, shops);
      shops.awaitSold(TICKETS / 3);
      sale.freeOne();
      shops.awaitSold(TICKETS * 2 / 3);
      return sale.isRight(customers, sale.stopOne());
    }
  }

  /** Returns whether too many tickets were sold. */
  static boolean withoutTheLock(PrintStream out, Database database) throws Exception {
    out.println(
        "The same without the lock (holdfast.enabled=false), and without a killed process:");
    try (Shops shops = Shops.open(database, "jazz-night", TICKETS, "--holdfast.enabled=false");
        Customers customers = shops.customers()) {
      return new ShopSale(out, shops).sold(customers, shops.first) > TICKETS;
    }
  }

  /** Keeps the shop open, for requests by hand. */
  private static void stay(PrintStream out, Database database) throws Exception {
    try (Shops shops = Shops.open(database, "rock-night", TICKETS)) {
      ShopSale sale = new ShopSale(out, shops);
      sale.say("It stays open until Ctrl-C. For example:");
      sale.say(
          "  curl -X POST -H 'Idempotency-Key: 1' %s/events/rock-night/tickets",
          address(shops.second));
      for (String path : List.of(
          "events/rock-night", "actuator/health", "actuator/locks", "actuator/prometheus")) {
        sale.say("  curl %s/%s", address(shops.first), path);
      }
      Thread.sleep(Long.MAX_VALUE);
    }
  }

  private static String payment() {
    return "--shop.payment=" + Shops.PAYMENT.toMillis() + "ms";
  }

  /** Waits until all is sold; returns whether each ticket was sold once. */
  private boolean isRight(Customers customers, Instance survivor) throws Exception {
    int sold = sold(customers, survivor);
    customers.surprises().forEach(surprise -> say("  A customer did not expect: %s", surprise));
    return sold == TICKETS
        && customers.tickets() == TICKETS
        && customers.different() == TICKETS
        && customers.surprises().isEmpty();
  }

  private int sold(Customers customers, Instance survivor) throws Exception {
    customers.awaitSoldOut(Shops.WAIT_MAX);
    int sold = survivor.web().sold(shops.event);
    say(
        "  Sold: %d of %d. Customers have %d tickets, %d of them different; they repeated %d requests.",
        sold, TICKETS, customers.tickets(), customers.different(), customers.repeated());
    return sold;
  }

  /** Freezes one that has the lock until the other has sold a ticket, and awaits its loss. */
  private void freezeOne() throws Exception {
    Instance frozen = shops.freezeHolder();
    say("  %s has the lock, and is frozen (SIGSTOP)", frozen.name());
    awaitNextSaleAndWake(frozen);
  }

  private void awaitNextSaleAndWake(Instance frozen) throws Exception {
    Instance other = shops.other(frozen);
    long sinceNanos = System.nanoTime();
    shops.awaitNextSale(other);
    say(
        "  %s sold the next ticket %.1f s later; %s wakes up",
        other.name(), (System.nanoTime() - sinceNanos) / 1e9, frozen.name());
    frozen.wake();
    Shops.await(() -> Shops.lost(frozen) > 0);
    say(
        "  %s lost its lock: its holdfast_lock_lost_total is %.0f",
        frozen.name(), Shops.lost(frozen));
  }

  /** Kills one that has the lock, and returns the other. */
  private Instance killOne() throws Exception {
    Instance killed = shops.freezeHolder();
    killed.kill();
    say("  %s has the lock, and is killed (SIGKILL)", killed.name());
    return shops.other(killed);
  }

  /**
   * Freezes an instance that has the lock, and frees the lock through the endpoint of the other.
   */
  private void freeOne() throws Exception {
    Instance frozen = shops.freezeHolder();
    Instance other = shops.other(frozen);
    Shops.await(() -> shops.lock(other).path("waiting").asInt() > 0);
    JsonNode lock = shops.lock(other);
    say("  %s has the lock, and is frozen (SIGSTOP): %s", frozen.name(), lock);
    JsonNode health = Web.json(other.web().get("/actuator/health")).at("/components/locks");
    require(health.path("status").asString("").equals("UP"), "healthy: " + health);
    HttpResponse<String> released = other
        .web()
        .delete("/actuator/locks?name=tickets/" + shops.event + "&token="
            + lock.get("token").asString());
    require(Web.json(released).path("released").asBoolean(), "released: " + released.body());
    say("  The operator frees it by force; health: %s", health);
    awaitNextSaleAndWake(frozen);
    Shops.await(() -> frozen.log().stream().anyMatch(line -> line.contains("LockLostException")));
    say("  %s did not sell the ticket that it was about to", frozen.name());
  }

  /**
   * Stops an instance that has the lock, and in which others wait for it; returns the other one.
   */
  private Instance stopOne() throws Exception {
    Instance stopped = shops.freezeHolder();
    Instance other = shops.other(stopped);
    int logged = stopped.log().size();
    // It gets the signal when it wakes up, before it can give the lock back.
    stopped.terminate();
    stopped.wake();
    long sinceNanos = System.nanoTime();
    int status = stopped.awaitEnd(Shops.WAIT_MAX);
    boolean isFree = !Shops.has(stopped, shops.lock(other));
    say(
        "  %s has the lock, and is stopped (SIGTERM): it ended %.1f s later, with status %d",
        stopped.name(), (System.nanoTime() - sinceNanos) / 1e9, status);
    List<String> log = stopped.log().subList(logged, stopped.log().size());
    boolean isServed = log.stream().anyMatch(line -> line.contains("Graceful shutdown complete"));
    boolean isQuiet = log.stream().noneMatch(line -> line.startsWith("\tat "));
    // The client is closed when nobody uses a lock any more.
    boolean isInOrder = log.stream()
        .noneMatch(line -> line.contains("LockClientClosed") || line.contains("LockLost"));
    require(
        status == STATUS_OF_SIGTERM && isFree && isServed && isQuiet && isInOrder,
        "stopped as it has to be; free: " + isFree + "; it wrote:\n" + String.join("\n", log));
    return other;
  }

  private static void require(boolean isSo, String what) {
    if (!isSo) {
      throw new IllegalStateException("Not " + what);
    }
  }

  private static String address(Instance instance) {
    return instance.web().address().toString();
  }

  private void say(String format, Object... arguments) {
    out.printf(Locale.ROOT, format + "%n", arguments);
  }
}
