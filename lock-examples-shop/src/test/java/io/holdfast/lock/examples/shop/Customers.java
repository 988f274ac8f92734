package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * Eight customers who buy tickets of one event until it is sold out, in turn at each instance. Who
 * gets no answer, or is told to try again, repeats the purchase at the next instance.
 */
final class Customers implements AutoCloseable {
  private static final int COUNT = 8;

  private final String event;
  private final List<Web> shops;
  private final ExecutorService threads = Executors.newFixedThreadPool(COUNT);
  private final List<Future<?>> visits;

  /** The number of each ticket that somebody has, by purchase. */
  private final Map<String, Integer> tickets = new ConcurrentHashMap<>();

  private final AtomicInteger repeated = new AtomicInteger();
  private final Queue<String> surprises = new ConcurrentLinkedQueue<>();

  private Customers(String event, List<Web> shops) {
    this.event = event;
    this.shops = List.copyOf(shops);
    this.visits = IntStream.range(0, COUNT)
        .<Future<?>>mapToObj(first -> threads.submit(() -> buy(first)))
        .toList();
  }

  /** Starts customers. */
  static Customers of(String event, List<Web> shops) {
    return new Customers(event, shops);
  }

  private void buy(int first) {
    String purchase = UUID.randomUUID().toString();
    for (int turn = first; !threads.isShutdown(); turn++) {
      try {
        HttpResponse<String> answer = shops.get(turn % shops.size()).buy(event, purchase);
        if (answer.statusCode() == 201) {
          tickets.put(purchase, Web.json(answer).get("number").asInt());
          purchase = UUID.randomUUID().toString();
        } else if (answer.statusCode() == 410) {
          return;
        } else {
          repeated.incrementAndGet();
          if (answer.statusCode() != 503) {
            surprises.add(answer.statusCode() + " " + answer.body());
          }
        }
      } catch (IOException e) {
        repeated.incrementAndGet();
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Waits until all have heard that there are no more tickets. */
  void awaitSoldOut(Duration max) throws InterruptedException, ExecutionException {
    long untilNanos = System.nanoTime() + max.toNanos();
    for (Future<?> visit : visits) {
      try {
        visit.get(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        throw new IllegalStateException(
            event + " was not sold out within " + max.toSeconds() + " s", e);
      }
    }
  }

  /** Returns the number of tickets that they have. */
  int tickets() {
    return tickets.size();
  }

  /** Returns the number of different tickets that they have. */
  int different() {
    return new HashSet<>(tickets.values()).size();
  }

  /** Returns the number of requests that had to be sent again. */
  int repeated() {
    return repeated.get();
  }

  /** Returns the answers other than a ticket, "sold out" and "try again". */
  List<String> surprises() {
    return List.copyOf(surprises);
  }

  /** Stops the customers. */
  @Override
  public void close() {
    threads.shutdownNow();
  }
}
