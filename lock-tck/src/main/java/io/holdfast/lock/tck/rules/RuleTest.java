package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.GuardedWrites.Step;
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
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLockTarget;

/**
 * The base class of all rules. It opens clients and closes them after the test, and reports what
 * fails on other threads.
 */
@ExtendWith(RuleRunner.class)
@DisplayNameGeneration(RuleNames.class)
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(
    value = Alone.SERVER,
    mode = ResourceAccessMode.READ,
    target = ResourceLockTarget.CHILDREN)
// The runner's own deadline comes first.
@Timeout(value = 5, unit = TimeUnit.MINUTES)
public abstract class RuleTest extends Polling {
  /** The limit of a wait whose length is not tested. */
  static final Duration LONG = Duration.ofSeconds(40);

  /** The store timeout of clients in rules that are not about time. */
  private static final Duration STORE_TIMEOUT = LONG.dividedBy(2);

  /** A TTL that is longer than any test. */
  static final Duration LONG_TTL = Duration.ofMinutes(5);

  private @Nullable Fixture fixture;
  private final Deque<AutoCloseable> closeables = new ArrayDeque<>(); // under its own monitor
  private final List<Worker<?>> workers = new ArrayList<>(); // under its own monitor

  /** Called by JUnit. */
  RuleTest() {}

  /** Sets the backend under test, as the runner does before each test. */
  final void use(Fixture opened) {
    fixture = opened;
  }

  /** Returns the backend under test. */
  final Fixture fixture() {
    return Objects.requireNonNull(fixture, "no test runs");
  }

  /**
   * Closes what the test opened. The runner does so within the test; something is left here only
   * after a test that missed its deadline.
   */
  @AfterEach
  void closeEverything() {
    List<Throwable> failures = new ArrayList<>();
    List<Worker<?>> started = takeAll(workers);
    for (Worker<?> worker : started) {
      worker.abandon();
    }
    // Closing one may open another.
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

  // ---- clients, links and children

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

  /** Returns options for renewed leases with the TTL of the fixture. */
  final LockOptions renewed() {
    return LockOptions.renewed(ttl());
  }

  /** Returns options for fixed leases with the TTL of the fixture. */
  final LockOptions fixed() {
    return LockOptions.fixed(ttl());
  }

  /** Returns options for renewed leases that do not expire during a test. */
  final LockOptions lasting() {
    return LockOptions.renewed(LONG_TTL);
  }

  /** Returns a name that was not used before. */
  final String freshName() {
    return "tck-" + random();
  }

  private static String random() {
    byte[] bytes = new byte[8];
    ThreadLocalRandom.current().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /**
   * Opens a client that bears a machine that stands still for seconds: its store timeout is long,
   * and its default options are {@link #lasting()}.
   */
  final LockClient client() {
    return client(builder -> {});
  }

  /** Opens a {@link #timed} client. */
  final LockClient timedClient() {
    return client(this::timed);
  }

  /**
   * Gives a client the store timeout of the fixture, and {@link #renewed()} as its default options:
   * for rules about time.
   */
  final LockClientBuilder<?> timed(LockClientBuilder<?> builder) {
    return builder.storeTimeout(timing().storeTimeout()).defaultOptions(renewed());
  }

  /** Opens a client as {@link #client()} does, with settings of its own. */
  final LockClient client(Consumer<LockClientBuilder<?>> settings) {
    boolean isFar =
        !Link.roundTrip().isZero() && fixture().capabilities().contains(Capability.FAULTS);
    return isFar ? client(link(), settings) : client(fixture().newClient(), settings);
  }

  /** Opens a client as {@link #client()} does, over a link. */
  final LockClient client(Link link) {
    return client(fixture().newClient(link), builder -> {});
  }

  /** Opens a client as {@link #client()} does, over a link and with settings of its own. */
  final LockClient client(Link link, Consumer<LockClientBuilder<?>> settings) {
    return client(fixture().newClient(link), settings);
  }

  /** Opens a client as {@link #client()} does, with a tap between engine and store. */
  final LockClient tapped(UnaryOperator<LockStore> tap) {
    return tapped(tap, builder -> {});
  }

  /** Opens a client as {@link #tapped(UnaryOperator)} does, with settings of its own. */
  final LockClient tapped(UnaryOperator<LockStore> tap, Consumer<LockClientBuilder<?>> settings) {
    return client(fixture().newClient(tap), settings);
  }

  /** Opens the store itself, for rules about single calls. */
  final LockStore store() {
    AtomicReference<LockStore> opened = new AtomicReference<>();
    LockClient unused = tapped(store -> {
      opened.set(store);
      return store;
    });
    return Objects.requireNonNull(opened.get(), "the fixture does not use the tap");
  }

  /** Makes the claim of a new attempt. */
  static Claim claim(String name, Duration ttl) {
    return new Claim(
        new LockKey(LockKind.MUTEX, name),
        Claim.EXCLUSIVE,
        random() + random(),
        ttl,
        Duration.ZERO,
        "tck");
  }

  /** Acquires a lock that must be free. */
  static Grant grant(LockStore store, Claim claim) throws StoreException {
    Optional<Grant> grant = store.tryAcquire(claim);
    assertThat(grant).as("tryAcquire() of the free lock %s", claim.key().name()).isPresent();
    return grant.orElseThrow();
  }

  /** Waits until a grant is over, and acquires the lock with another claim. */
  final Grant successor(LockStore store, Grant first, Claim claim) {
    Slot<Grant> next = new Slot<>();
    eventually(
        "the lock is free for a successor",
        first.crashBound(first.claim().ttl()).plus(slack()),
        () -> {
          store.tryAcquire(claim).ifPresent(next::set);
          return next.isSet();
        });
    return next.get();
  }

  private LockClient client(LockClientBuilder<?> builder, Consumer<LockClientBuilder<?>> settings) {
    LockClientBuilder<?> named = builder.clientName("tck-" + random());
    LockClientBuilder<?> patient =
        named.storeTimeout(STORE_TIMEOUT).defaultOptions(lasting()).addListener(Worker.LISTENER);
    settings.accept(patient);
    return closeLater(open(patient));
  }

  /**
   * Opens a client, with several tries if necessary: how soon one can be opened on a busy machine
   * is not a rule.
   */
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
      pauseBetweenLooks(since(start));
    }
  }

  /** Opens a link that is closed after the test. */
  final Link link() {
    return closeLater(fixture().newLink());
  }

  /**
   * Opens a link to a store that is far away: what is sent together counts as one request, even if
   * the sender is held up in between.
   */
  final Link farLink() {
    Link link = link();
    link.delay(Link.Direction.REQUESTS, Duration.ofMillis(20));
    return link;
  }

  /**
   * Returns the requests over a link for so many rounds of an action: the fewest of three counts,
   * since the driver or its pool may send some of its own meanwhile.
   */
  static long requests(Link link, int rounds, Runnable action) {
    long fewest = Long.MAX_VALUE;
    for (int count = 0; count < 3; count++) {
      long before = link.requests();
      for (int i = 0; i < rounds; i++) {
        action.run();
      }
      fewest = Math.min(fewest, link.requests() - before);
    }
    return fewest;
  }

  /**
   * Starts a child process with a client as {@link #client()}'s, which is killed after the test.
   */
  final ChildProcess child() {
    return child(STORE_TIMEOUT, LONG_TTL);
  }

  /** Starts a child process with a client as {@link #timedClient()}'s. */
  final ChildProcess timedChild() {
    return child(timing().storeTimeout(), ttl());
  }

  private ChildProcess child(Duration storeTimeout, Duration ttl) {
    ChildProcess child = closeLater(ChildProcess.start(fixture().childProcess()));
    assertThat(child.ask(LONG, "client", storeTimeout.toMillis(), ttl.toMillis()))
        .containsExactly("ok");
    return child;
  }

  /** Creates an empty log, and returns its name. */
  final String newLog(GuardedWrites writes) throws Exception {
    String log = freshName();
    writes.create(log);
    return log;
  }

  /** Registers something to be closed after the test; the last one registered is closed first. */
  final <T extends AutoCloseable> T closeLater(T closeable) {
    synchronized (closeables) {
      closeables.addFirst(closeable);
    }
    return closeable;
  }

  // ---- leases

  /** Takes a lock that must be free. */
  static <L extends AnyLease> L take(Acquirable<L> lock) {
    Optional<L> lease = lock.tryLock();
    assertThat(lease).as("tryLock() of the free lock %s", lock).isPresent();
    return lease.orElseThrow();
  }

  /** Tries to take the lock, and releases it at once; returns whether it was free. */
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

  /** Whether the store shows that this lease has the lock. */
  static boolean isHolder(DistributedLock lock, Lease lease) {
    return lock.inspect().filter(holder -> holder.token() == lease.token()).isPresent();
  }

  static void assertTaken(Acquirable<?> lock, String why) {
    assertThat(lock.tryLock()).as(why).isEmpty();
  }

  /** Asserts that a call throws {@link LockLostException} with this reason. */
  static void assertLost(LeaseLoss.Reason reason, String what, ThrowingCallable call) {
    assertThatExceptionOfType(LockLostException.class)
        .as(what)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.reason()).isEqualTo(reason));
  }

  /** Tries once to take the lock on another thread. */
  final Optional<Lease> tryOnAnotherThread(DistributedLock lock) {
    return onAnotherThread(() -> lock.tryLock());
  }

  /** Waits until the lock becomes free for this client, and takes it. */
  final Lease takeWhenFree(LockClient client, String name, Duration within) {
    Slot<Lease> lease = new Slot<>();
    eventually("the lock becomes free for another client", within, () -> {
      client.get(name).tryLock().ifPresent(lease::set);
      return lease.isSet();
    });
    return lease.get();
  }

  /** Waits as {@link #takeWhenFree} does, and while the store is unreachable too. */
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
      pauseBetweenLooks(since(start));
    }
  }

  // ---- threads

  /** Starts a thread; whatever it throws fails the test, unless {@link Worker#get} already did. */
  final <T> Worker<T> start(Callable<T> body) {
    Worker<T> worker = new Worker<>(body);
    synchronized (workers) {
      workers.add(worker);
    }
    worker.start();
    return worker;
  }

  /** Starts a thread as {@link #start} does, without a result. */
  final Worker<Boolean> startStep(Step step) {
    return start(() -> {
      step.run();
      return true;
    });
  }

  /** Runs something on another thread and waits for it. */
  final <T> T onAnotherThread(Callable<T> body) {
    return start(body).get(LONG);
  }

  /** Waits until a thread has its place in the line of a lock. */
  static void awaitWaiting(Worker<?> worker) {
    eventually("the thread waits", LONG, () -> {
      assertThat(worker.isDone()).as("the thread ended in place of waiting").isFalse();
      return worker.isWaiting();
    });
  }
}
