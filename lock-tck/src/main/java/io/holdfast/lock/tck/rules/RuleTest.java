package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.Timing;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What all chapters share: clients that are closed after the test, threads whose failures are not
 * lost, fresh names, and waiting for a condition in place of sleeping.
 *
 * <p>Two ways of waiting, never mixed: {@link #eventually} for what must happen (generous),
 * {@link #never} for what must not (short).
 */
@ExtendWith(RuleRunner.class)
@DisplayNameGeneration(RuleNames.class)
@Execution(ExecutionMode.CONCURRENT)
@Timeout(value = 30, unit = TimeUnit.MINUTES) // the runner has a deadline that begins with the test
public abstract class RuleTest {
  private static final Duration POLL = Duration.ofMillis(10);

  /** For waiting that is not the point of a test. */
  static final Duration LONG = Duration.ofSeconds(40);

  /** A TTL that certainly does not end during a test. */
  static final Duration LONG_TTL = Duration.ofMinutes(5);

  private final Deque<AutoCloseable> closeables = new ArrayDeque<>(); // under its own monitor
  private final List<Worker<?>> workers = new ArrayList<>(); // under its own monitor

  /** For JUnit. */
  RuleTest() {}

  /** The backend under test. */
  protected abstract Fixture fixture();

  /**
   * Ends what the test began. The runner does so within the test; only of one that is not done at
   * its deadline there is something left after it.
   */
  @AfterEach
  void closeEverything() {
    List<Throwable> failures = new ArrayList<>();
    List<Worker<?>> started = takeAll(workers);
    for (Worker<?> worker : started) {
      worker.abandon();
    }
    // To close one may open another.
    List<AutoCloseable> open = takeAll(closeables);
    while (!open.isEmpty()) {
      for (AutoCloseable closeable : open) {
        try {
          closeable.close();
        } catch (Exception | AssertionError e) {
          failures.add(e);
        }
      }
      open = takeAll(closeables);
    }
    for (Worker<?> worker : started) {
      worker.collect(failures);
    }
    if (!failures.isEmpty()) {
      AssertionError error =
          new AssertionError("Failed outside the test's own thread", failures.get(0));
      failures.stream().skip(1).forEach(error::addSuppressed);
      throw error;
    }
  }

  private static <T> List<T> takeAll(Collection<T> all) {
    synchronized (all) {
      List<T> taken = List.copyOf(all);
      all.clear();
      return taken;
    }
  }

  // ---- what to work with

  final Timing timing() {
    return fixture().timing();
  }

  final Duration ttl() {
    return timing().ttl();
  }

  final Duration slack() {
    return timing().slack();
  }

  final Duration quiet() {
    return timing().quiet();
  }

  /** Renewed leases with the TTL of the fixture. */
  final LockOptions renewed() {
    return LockOptions.renewed(ttl());
  }

  /** Leases that end after the TTL of the fixture. */
  final LockOptions fixed() {
    return LockOptions.fixed(ttl());
  }

  /** Renewed leases that do not expire during a test. */
  final LockOptions lasting() {
    return LockOptions.renewed(LONG_TTL);
  }

  /** A name that nobody used before. */
  final String freshName() {
    return "tck-" + random();
  }

  private static String random() {
    byte[] bytes = new byte[8];
    ThreadLocalRandom.current().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** A client whose default leases are {@link #renewed()}. */
  final LockClient client() {
    return client(fixture().newClient(), builder -> {});
  }

  /** As {@link #client()}, with settings of its own. */
  final LockClient client(Consumer<LockClientBuilder<?>> settings) {
    return client(fixture().newClient(), settings);
  }

  /**
   * A client that waits long for the store, and whose default leases are {@link #lasting()}: for
   * rules that load a server which may be busy with other tests, or with its disk. What it is
   * allowed to take is none of theirs.
   */
  final LockClient patientClient() {
    return client(builder -> builder.storeTimeout(LONG.dividedBy(2)).defaultOptions(lasting()));
  }

  /** As {@link #client()}, over a link. */
  final LockClient client(Link link) {
    return client(fixture().newClient(link), builder -> {});
  }

  /** As {@link #client()}, over a link and with settings of its own. */
  final LockClient client(Link link, Consumer<LockClientBuilder<?>> settings) {
    return client(fixture().newClient(link), settings);
  }

  /** As {@link #client()}, with something between engine and store. */
  final LockClient tapped(UnaryOperator<LockStore> tap) {
    return tapped(tap, builder -> {});
  }

  /** As {@link #tapped(UnaryOperator)}, with settings of its own. */
  final LockClient tapped(UnaryOperator<LockStore> tap, Consumer<LockClientBuilder<?>> settings) {
    return client(fixture().newClient(tap), settings);
  }

  /** The store itself, for rules about single calls. */
  final LockStore store() {
    AtomicReference<LockStore> opened = new AtomicReference<>();
    LockClient unused = tapped(store -> {
      opened.set(store);
      return store;
    });
    return Objects.requireNonNull(opened.get(), "the fixture does not use the tap");
  }

  /** A claim of a new attempt. */
  static Claim claim(String name, Duration ttl) {
    return new Claim(
        new LockKey(LockKind.MUTEX, name), random() + random(), ttl, Duration.ZERO, "tck");
  }

  /** The grant of a lock that must be free. */
  static Grant grant(LockStore store, Claim claim) throws StoreException {
    Optional<Grant> grant = store.tryAcquire(claim);
    assertThat(grant).as("tryAcquire() of the free lock %s", claim.key().name()).isPresent();
    return grant.orElseThrow();
  }

  private LockClient client(LockClientBuilder<?> builder, Consumer<LockClientBuilder<?>> settings) {
    LockClientBuilder<?> named = builder.clientName("tck-" + random());
    LockClientBuilder<?> timed =
        named.storeTimeout(timing().storeTimeout()).defaultOptions(renewed());
    settings.accept(timed);
    return closeLater(open(timed));
  }

  /** How soon a client can be opened is no rule: on a busy machine it may need several tries. */
  private LockClient open(LockClientBuilder<?> builder) {
    long start = System.nanoTime();
    while (true) {
      try {
        return fixture().build(builder);
      } catch (LockStoreException e) {
        if (since(start).compareTo(LONG) > 0) {
          throw e;
        }
      }
      pause();
    }
  }

  /** A link that is closed after the test. */
  final Link link() {
    return closeLater(fixture().newLink());
  }

  /** A child process with a client, killed after the test. */
  final ChildProcess child() {
    ChildProcess child = closeLater(ChildProcess.start(fixture().childProcess()));
    assertThat(
            child.ask(LONG, "client", timing().storeTimeout().toMillis(), ttl().toMillis()))
        .containsExactly("ok");
    return child;
  }

  /** Has it closed after the test, last given first. */
  final <T extends AutoCloseable> T closeLater(T closeable) {
    synchronized (closeables) {
      closeables.addFirst(closeable);
    }
    return closeable;
  }

  // ---- leases

  /** The lease of a lock that must be free. */
  static Lease take(DistributedLock lock) {
    Optional<Lease> lease = lock.tryLock();
    assertThat(lease).as("tryLock() of the free lock %s", lock.name()).isPresent();
    return lease.orElseThrow();
  }

  /** Whether the lock is free for a client at this moment; gives it back at once. */
  static boolean isFree(LockClient client, String name) {
    Optional<Lease> lease = client.get(name).tryLock();
    lease.ifPresent(Lease::close);
    return lease.isPresent();
  }

  static void assertTaken(LockClient other, String name, String why) {
    assertThat(other.get(name).tryLock())
        .as("%s: tryLock() by another client", why)
        .isEmpty();
  }

  /** What another thread gets that asks once. */
  final Optional<Lease> tryOnAnotherThread(DistributedLock lock) {
    return onAnotherThread(() -> lock.tryLock());
  }

  /** Waits until the lock becomes free for this client, and takes it. */
  final Lease takeWhenFree(LockClient client, String name, LockOptions options, Duration within) {
    long start = System.nanoTime();
    while (true) {
      Optional<Lease> lease = client.get(name, options).tryLock();
      if (lease.isPresent()) {
        return lease.get();
      }
      if (since(start).compareTo(within) > 0) {
        throw new AssertionError("The lock did not become free within " + within);
      }
      pause();
    }
  }

  /** As {@link #takeWhenFree}, while the store may be out of reach. */
  final Lease takeDespiteFailures(LockClient client, String name, Duration within) {
    long start = System.nanoTime();
    while (true) {
      try {
        Optional<Lease> lease = client.get(name).tryLock();
        if (lease.isPresent()) {
          return lease.get();
        }
      } catch (LockStoreException e) {
        if (since(start).compareTo(within) > 0) {
          throw new AssertionError("The store did not recover within " + within, e);
        }
      }
      if (since(start).compareTo(within) > 0) {
        throw new AssertionError("The lock did not become free within " + within);
      }
      pause();
    }
  }

  // ---- time

  static Duration since(long startNanos) {
    return Duration.ofNanos(System.nanoTime() - startNanos);
  }

  /** A condition that may ask the store. */
  @FunctionalInterface
  interface Condition {
    boolean holds() throws Exception;
  }

  /** Waits for something that must happen. */
  static void eventually(String what, Duration within, Condition condition) {
    long start = System.nanoTime();
    while (!holds(condition)) {
      if (since(start).compareTo(within) > 0) {
        throw new AssertionError("Did not happen within " + within + ": " + what);
      }
      pause();
    }
  }

  /** Watches that something does not happen. */
  static void never(String what, Duration during, Condition condition) {
    long start = System.nanoTime();
    do {
      if (holds(condition)) {
        throw new AssertionError("Must not happen, but did after " + since(start) + ": " + what);
      }
      pause();
    } while (since(start).compareTo(during) < 0);
  }

  private static boolean holds(Condition condition) {
    try {
      return condition.holds();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError("The condition could not be checked", e);
    }
  }

  /** One step of polling. */
  static void pause() {
    pause(POLL);
  }

  /** A step of a scenario whose length is its point. */
  static void pause(Duration length) {
    try {
      TimeUnit.NANOSECONDS.sleep(length.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted", e);
    }
  }

  // ---- threads

  /** Starts a thread; what it throws fails the test, unless {@link Worker#get} already did. */
  final <T> Worker<T> start(Callable<T> body) {
    Worker<T> worker = new Worker<>(body);
    synchronized (workers) {
      workers.add(worker);
    }
    worker.thread.start();
    return worker;
  }

  /** Runs something on another thread and waits for it. */
  final <T> T onAnotherThread(Callable<T> body) {
    return start(body).get(LONG);
  }

  /** Waits until a thread has been seen waiting for a while: it asked, and stands in line. */
  static void awaitWaiting(Worker<?> worker) {
    eventually("the thread waits", LONG, () -> {
      for (int i = 0; i < 5; i++) {
        Thread.State state = worker.thread.getState();
        if (state != Thread.State.WAITING && state != Thread.State.TIMED_WAITING) {
          assertThat(worker.isDone()).as("the thread ended in place of waiting").isFalse();
          return false;
        }
        pause();
      }
      return true;
    });
  }

  /** Something that comes from another thread. */
  static final class Slot<T> {
    private volatile @Nullable T value;

    void set(T value) {
      this.value = value;
    }

    boolean isSet() {
      return value != null;
    }

    T get() {
      return Objects.requireNonNull(value, "nothing came");
    }
  }

  /** A thread with a result. */
  static final class Worker<T> {
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final Thread thread;
    private volatile boolean told;

    Worker(Callable<T> body) {
      thread = new Thread(
          () -> {
            try {
              result.complete(body.call());
            } catch (Throwable e) {
              result.completeExceptionally(e);
            }
          },
          "tck-worker");
      thread.setDaemon(true);
    }

    boolean isDone() {
      return result.isDone();
    }

    void interrupt() {
      thread.interrupt();
    }

    /** The result, or a failure of the test. */
    T get(Duration within) {
      try {
        return Objects.requireNonNull(result.get(within.toNanos(), TimeUnit.NANOSECONDS));
      } catch (ExecutionException e) {
        told = true;
        throw new AssertionError("Failed on another thread: " + e.getCause(), e.getCause());
      } catch (TimeoutException e) {
        told = true;
        AssertionError error = new AssertionError("Another thread was not done within " + within);
        error.setStackTrace(thread.getStackTrace());
        throw error;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("Interrupted", e);
      }
    }

    /** What the body threw; it must throw. */
    Throwable failure(Duration within) {
      told = true;
      try {
        T value = result.get(within.toNanos(), TimeUnit.NANOSECONDS);
        throw new AssertionError("Expected an exception on the other thread, got " + value);
      } catch (ExecutionException e) {
        return Objects.requireNonNull(e.getCause());
      } catch (TimeoutException e) {
        AssertionError error = new AssertionError("Another thread was not done within " + within);
        error.setStackTrace(thread.getStackTrace());
        throw error;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("Interrupted", e);
      }
    }

    /** After the test: what still runs must end, and what comes of it does not matter. */
    private void abandon() {
      if (!result.isDone()) {
        told = true;
        thread.interrupt();
      }
    }

    private void collect(List<Throwable> failures) {
      try {
        T unused = result.get(LONG.toNanos(), TimeUnit.NANOSECONDS);
      } catch (ExecutionException e) {
        if (!told) {
          failures.add(e.getCause());
        }
      } catch (TimeoutException e) {
        AssertionError error = new AssertionError("A thread of the test does not end");
        error.setStackTrace(thread.getStackTrace());
        failures.add(error);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
