package io.holdfast.lock.examples.shop;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** The program behind {@code dev/shop}. */
final class ShopSale {
  private static final int EVER = 1_000_000;
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private final Postgres postgres;

  private ShopSale(Postgres postgres) {
    this.postgres = postgres;
  }

  /** Sells so many tickets as the argument says, or with {@code --stay} for ever. */
  public static void main(String[] args) throws Exception {
    boolean isShown = true;
    try (Postgres postgres = new Postgres()) {
      ShopSale shop = new ShopSale(postgres);
      if (args[0].equals("--stay")) {
        shop.stay();
      } else {
        int tickets = Integer.parseInt(args[0]);
        isShown = shop.sellWithTheLock(tickets);
        isShown &= shop.sellWithoutTheLock(tickets);
      }
    }
    System.exit(isShown ? 0 : 1);
  }

  private boolean sellWithTheLock(int tickets) throws Exception {
    List<Instance> instances = open(tickets);
    try (Sale sale = new Sale(postgres, instances, tickets)) {
      Sale.Outcome outcome = sale.run(true);
      Instance killed = outcome.killed();
      say("  %s had the lock in the middle of it, and was killed (SIGKILL).", killed.name());
      tell(outcome, sale);
      say(
          "  The longest time without a sale was %s (the TTL is 3 s); %d requests had to"
              + " be sent again,",
          seconds(outcome.pause()), outcome.retries());
      say("  and each customer has the ticket that was sold to them: %d.", outcome.answered());
      return outcome.isAsItShouldBe(tickets);
    } finally {
      instances.forEach(Instance::close);
    }
  }

  private boolean sellWithoutTheLock(int tickets) throws Exception {
    say("The same without the lock (holdfast.enabled=false), and without a kill:");
    List<Instance> instances = open(tickets, "holdfast.enabled=false");
    try (Sale sale = new Sale(postgres, instances, tickets)) {
      Sale.Outcome outcome = sale.run(false);
      tell(outcome, sale);
      return outcome.sold() > tickets;
    } finally {
      instances.forEach(Instance::close);
    }
  }

  private static void tell(Sale.Outcome outcome, Sale sale) throws Exception {
    say(
        "  Sold: %d, by %s. Different tickets: %d. Pairs of sales that were inside at once: %d.",
        outcome.sold(), sale.books().soldBy(), outcome.numbers(), outcome.overlaps());
  }

  /** Sells for as long as this process lives. */
  private void stay() throws Exception {
    List<Instance> instances = open(EVER);
    try (Sale sale = new Sale(postgres, instances, EVER);
        Customers customers = sale.customers()) {
      say("It goes on until Ctrl-C. For example:");
      say("  curl %s/events/%s", instances.get(0).address(), sale.event());
      say("  curl -X POST %s/events/%s/tickets", instances.get(1).address(), sale.event());
      for (String path : List.of("health", "locks", "prometheus")) {
        say("  curl %s/actuator/%s", instances.get(0).address(), path);
      }
      customers.awaitSoldOut(Duration.ofDays(365));
    } finally {
      instances.forEach(Instance::close);
    }
  }

  private List<Instance> open(int tickets, String... properties) throws Exception {
    List<Instance> instances = Instance.start(2, postgres, properties);
    say(
        "The shop is open, with %d tickets: %s at %s, and %s at %s.",
        tickets,
        instances.get(0).name(),
        instances.get(0).address(),
        instances.get(1).name(),
        instances.get(1).address());
    return instances;
  }

  private static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1000.0);
  }

  private static void say(String format, Object... arguments) {
    OUT.printf(Locale.ROOT, format + "%n", arguments);
  }
}
