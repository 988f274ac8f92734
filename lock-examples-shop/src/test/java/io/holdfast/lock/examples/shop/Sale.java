package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.URI;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** An event that is sold by several instances, one of which may be killed. */
final class Sale implements AutoCloseable {
  private static final Duration SALE_MAX = Duration.ofSeconds(50);
  private static final Duration HOLDER_MAX = Duration.ofSeconds(10);
  private static final int CUSTOMERS = 8;

  private final Web web = new Web();
  private final String event = "night-" + UUID.randomUUID().toString().substring(0, 8);
  private final List<Instance> instances;
  private final int tickets;
  private final Books books;

  Sale(Postgres postgres, List<Instance> instances, int tickets) throws Exception {
    this.instances = List.copyOf(instances);
    this.tickets = tickets;
    this.books = new Books(postgres, event);
    URI address = instances.get(0).address().resolve("/events/" + event);
    web.put(address, "{\"tickets\": " + tickets + "}");
  }

  String event() {
    return event;
  }

  Books books() {
    return books;
  }

  /** Lets customers begin. */
  Customers customers() {
    return Customers.of(event, instances, CUSTOMERS);
  }

  /**
   * Lets customers buy everything.
   *
   * @param isKilled whether an instance is killed in the middle, while it has the lock
   */
  Outcome run(boolean isKilled) throws Exception {
    try (Customers customers = customers()) {
      Instance killed = null;
      if (isKilled) {
        books.awaitSold(tickets / 3, SALE_MAX);
        killed = holder();
        killed.kill();
      }
      customers.awaitSoldOut(SALE_MAX);
      return new Outcome(
          killed,
          books.sold(),
          books.numbers(),
          books.overlaps(),
          new TreeSet<>(customers.tickets().values()).size(),
          customers.retries(),
          books.pause());
    }
  }

  /**
   * The result of a sale.
   *
   * @param killed the instance that was, or null
   * @param numbers how many different tickets were sold
   * @param overlaps the pairs of sales that were inside at once
   * @param answered how many different tickets customers were told of
   * @param pause the longest time without a sale
   */
  record Outcome(
      @Nullable Instance killed,
      int sold,
      int numbers,
      int overlaps,
      int answered,
      int retries,
      Duration pause) {
    /** Whether each ticket was sold once, one after the other, to somebody who knows of it. */
    boolean isAsItShouldBe(int tickets) {
      return sold == tickets && numbers == tickets && answered == tickets && overlaps == 0;
    }
  }

  /** The instance that has the lock, or had it a moment ago. */
  Instance holder() throws IOException, InterruptedException {
    String holder = lock().get("holder").asString();
    return instances.stream()
        .filter(instance -> holder.contains(instance.name()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException(holder + " is no instance"));
  }

  /** The lock, once somebody has it, as the endpoint shows it. */
  JsonNode lock() throws IOException, InterruptedException {
    URI locks = instances.get(0).address().resolve("/actuator/locks?prefix=tickets/" + event);
    long untilNanos = System.nanoTime() + HOLDER_MAX.toNanos();
    while (System.nanoTime() - untilNanos < 0) {
      JsonNode held = web.get(locks).body().get("locks");
      if (held != null && !held.isEmpty()) {
        return held.get(0);
      }
    }
    throw new IllegalStateException("Nobody has the lock of " + event);
  }

  /** Waits until the lock has gone on to the next holder. */
  void awaitNextHolder() throws IOException, InterruptedException {
    String token = lock().get("token").asString();
    long untilNanos = System.nanoTime() + HOLDER_MAX.toNanos();
    while (lock().get("token").asString().equals(token)) {
      if (System.nanoTime() - untilNanos > 0) {
        throw new IllegalStateException("Token " + token + " has the lock for ever");
      }
    }
  }

  /** Takes the lock from whoever has it. */
  void forceRelease() throws IOException, InterruptedException {
    JsonNode lock = lock();
    Web.Answer answer = web.delete(instances
        .get(0)
        .address()
        .resolve("/actuator/locks?name=tickets/" + event + "&token="
            + lock.get("token").asString()));
    if (answer.status() != 200) {
      throw new IllegalStateException("The endpoint refuses: " + answer.body());
    }
  }

  @Override
  public void close() throws SQLException {
    books.close();
  }
}
