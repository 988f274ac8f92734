package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Customers who buy one ticket after the other, in turn at each instance, until the event is sold
 * out. Who gets no answer, or is told to try again, asks for the same purchase at the next
 * instance.
 */
final class Customers implements AutoCloseable {
  private static final Duration ANSWER_MAX = Duration.ofSeconds(20);

  private final Web web = new Web();
  private final String event;
  private final List<Instance> instances;
  private final Map<String, Integer> tickets = new ConcurrentHashMap<>();
  private final AtomicInteger retries = new AtomicInteger();
  private final AtomicBoolean ended = new AtomicBoolean();
  private final List<Thread> threads = new ArrayList<>();

  private Customers(String event, List<Instance> instances) {
    this.event = event;
    this.instances = List.copyOf(instances);
  }

  /** Lets so many customers begin. */
  static Customers of(String event, List<Instance> instances, int count) {
    Customers customers = new Customers(event, instances);
    for (int i = 0; i < count; i++) {
      int first = i;
      Thread thread = new Thread(() -> customers.shop(first), "customer-" + i);
      thread.setDaemon(true);
      customers.threads.add(thread);
      thread.start();
    }
    return customers;
  }

  private void shop(int first) {
    int turn = first;
    String purchase = UUID.randomUUID().toString();
    while (!ended.get()) {
      Instance instance = instances.get(turn++ % instances.size());
      try {
        Web.Answer answer = web.buy(instance.address(), event, purchase, ANSWER_MAX);
        switch (answer.status()) {
          case 201 -> {
            tickets.put(purchase, answer.body().get("number").asInt());
            purchase = UUID.randomUUID().toString();
          }
          case 409 -> {
            return;
          }
          default -> retries.incrementAndGet();
        }
      } catch (IOException e) {
        retries.incrementAndGet();
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** The number of each ticket that a customer was told of, by purchase. */
  Map<String, Integer> tickets() {
    return Map.copyOf(tickets);
  }

  /** How many requests had to be sent again. */
  int retries() {
    return retries.get();
  }

  /** Waits until all have heard that there are no more tickets. */
  void awaitSoldOut(Duration max) throws InterruptedException {
    long untilNanos = System.nanoTime() + max.toNanos();
    for (Thread thread : threads) {
      thread.join(Math.max(1, Duration.ofNanos(untilNanos - System.nanoTime()).toMillis()));
      if (thread.isAlive()) {
        throw new IllegalStateException(
            event + " was not sold out within " + max.toSeconds() + " s");
      }
    }
  }

  /** Sends them home. */
  @Override
  public void close() {
    ended.set(true);
    threads.forEach(Thread::interrupt);
  }
}
