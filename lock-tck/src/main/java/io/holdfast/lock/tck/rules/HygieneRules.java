package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Chapter 10: closing a client, leaving nothing behind, and what it costs. */
public abstract class HygieneRules extends RuleTest {
  private static final int NAMES = Integer.getInteger("holdfast.tck.names", 1_000);

  /** Called by JUnit. */
  protected HygieneRules() {}

  @Rule("L-10.1")
  @Test
  void closingAClientLosesItsLeasesAndFreesTheirLocks() {
    LockClient client = client();
    LockClient other = client();
    Lease lease = take(client.get(freshName(), lasting()));
    Slot<LeaseLoss> loss = new Slot<>();
    AtomicBoolean heldByTwo = new AtomicBoolean();
    lease.onLost(loss::set);
    Worker<Lease> waiting = start(() -> {
      Lease next = other.get(lease.name()).lock();
      heldByTwo.set(lease.isHeld());
      return next;
    });
    awaitWaiting(waiting);
    client.close();
    assertThat(lease.isHeld()).as("isHeld() after the client was closed").isFalse();
    assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    Lease next = waiting.get(slack());
    assertThat(heldByTwo)
        .as("held by the closed client while another has the lock")
        .isFalse();
    eventually("onLost is told", slack(), loss::isSet);
    assertThat(loss.get().reason()).isEqualTo(LeaseLoss.Reason.CLIENT_CLOSED);
    assertLost(LeaseLoss.Reason.CLIENT_CLOSED, "close() after that", lease::close);
    next.verify();
    next.close();
  }

  @Rule("L-10.2")
  @Test
  void closingAClientWakesItsWaitersAndRefusesLaterUse() {
    LockClient client = client();
    String taken = freshName();
    Lease elsewhere = take(client().get(taken, lasting()));
    DistributedLock local = client.get(freshName(), lasting());
    Lease lease = take(local);
    List<Worker<Boolean>> waiting = new ArrayList<>();
    for (DistributedLock lock : List.of(client.get(taken), client.get(taken), local)) {
      Worker<Boolean> worker = startStep(() -> lock.lock().close());
      awaitWaiting(worker);
      waiting.add(worker);
    }
    client.close();
    for (Worker<Boolean> worker : waiting) {
      assertThat(worker.failure(slack()))
          .as("what a wait ends with when its client is closed")
          .isInstanceOf(LockClientClosedException.class);
    }
    assertThatExceptionOfType(LockClientClosedException.class)
        .as("tryLock() of a closed client")
        .isThrownBy(() -> client.get(freshName()).tryLock().isPresent());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    client.close(); // once more changes nothing
    elsewhere.close();
    take(client().get(taken)).close();
  }

  @Rule("L-10.3")
  @Requires(Capability.FAULTS)
  @Test
  void closingAClientIsBoundedWhenTheStoreIsDead() {
    Link link = link();
    LockClient client = client(link, this::timed);
    LockClient other = client();
    Lease lease = take(client.get(freshName()));
    link.blackhole();
    long start = System.nanoTime();
    client.close();
    assertThat(since(start))
        .as("time in LockClient.close() with a dead store")
        .isLessThan(timing().storeTimeout().multipliedBy(3).plus(slack()));
    assertThat(lease.isHeld()).isFalse();
    Lease next = takeWhenFree(other, lease.name(), lease.crashBound().plus(slack()));
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    next.close();
  }

  @Rule("L-10.4")
  @Test
  void aClosedClientLeavesNoThread() {
    String clientName = freshName();
    LockClient client = client(builder -> builder.clientName(clientName));
    Lease lease = take(client.get(freshName()));
    eventually(
        "the client's threads carry its name",
        LONG,
        () -> !threadsNamed(clientName).isEmpty());
    lease.close();
    client.close();
    eventually("its threads end", slack(), () -> threadsNamed(clientName).isEmpty());
    // What the client was built on belongs to the user, and still works.
    take(client().get(lease.name())).close();
  }

  private static List<String> threadsNamed(String part) {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.contains(part))
        .toList();
  }

  @Rule("L-10.5")
  @Requires(Capability.LEFTOVERS)
  @Alone
  @Test
  void nothingIsLeftOfNamesThatAreNotInUse() throws Exception {
    LockClient warm = client();
    take(warm.get(freshName())).close();
    warm.close();
    Map<String, Long> before = fixture().leftovers();
    // What has no answer in time when a client is closed may be left for whoever meets it.
    LockClient client = client();
    LockClient other = client();
    useNames(client, other, 10); // Starts the threads that serve all names.
    long threadsBefore = threads();
    useNames(client, other, NAMES);
    assertThat(threads()).as("threads").isLessThan(threadsBefore + 20);
    client.close();
    other.close();
    eventually("the store keeps no more than before: " + before, ttl().plus(slack()), () -> {
      Map<String, Long> after = fixture().leftovers();
      return after.entrySet().stream()
          .allMatch(one -> one.getValue() <= before.getOrDefault(one.getKey(), 0L));
    });
  }

  /** Takes new names one after the other; every tenth is found taken by the other client. */
  private void useNames(LockClient client, LockClient other, int names) throws Exception {
    for (int i = 0; i < names; i++) {
      String name = freshName();
      Lease lease = take(client.get(name));
      if (i % 10 == 0) {
        assertTaken(other, name, "held");
        assertThat(other.get(name).tryLock(Duration.ofMillis(1))).isEmpty();
      }
      lease.close();
    }
  }

  /** Returns the number of threads, without those of links. */
  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !thread.getName().startsWith("fault-proxy-"))
        .count();
  }

  @Rule("L-10.6")
  @Requires(Capability.CALLER_TRANSACTIONS)
  @Test
  void aLockInACallersOpenTransactionIsNoPartOfIt() throws Exception {
    String name = freshName();
    LockClient client = client();
    LockClient other = client();
    Slot<Lease> held = new Slot<>();
    boolean rolledBack = fixture().isRolledBackAround(() -> {
      take(client.get(freshName())).close();
      held.set(take(client.get(name)));
      return true;
    });
    assertThat(rolledBack).as("the caller's write is rolled back").isTrue();
    assertTaken(other, name, "acquired in a transaction that was rolled back");
    held.get().verify();
    held.get().close();
    take(other.get(name)).close();
  }

  @Rule("L-10.7")
  @Requires(Capability.FAULTS)
  @Test
  void acquireAndReleaseAreTwoRequestsAndReentryIsNone() {
    Link link = farLink();
    LockClient client = client(link);
    DistributedLock lock = client.get(freshName(), lasting());
    take(lock).close();
    take(lock).close();
    int rounds = 20;
    assertThat(requests(link, rounds, () -> take(lock).close()))
        .as("requests for %s times acquire and release", rounds)
        .isBetween(2L * rounds, 2L * rounds + rounds / 4);
    Lease outer = take(lock);
    assertThat(requests(link, rounds, () -> take(lock).close()))
        .as("requests for %s times re-entry", rounds)
        .isLessThan(rounds / 4);
    outer.close();
  }

  @Rule("L-10.8")
  @Test
  void aForgottenLeaseEnds() {
    AtomicInteger leaks = new AtomicInteger();
    String name = freshName();
    LockClient client = client(builder -> timed(builder).addListener(new LockListener() {
      @Override
      public void leaked(LeaseEvent event) {
        if (event.lockName().equals(name)) {
          leaks.incrementAndGet();
        }
      }
    }));
    LockClient other = client();
    boolean taken = onAnotherThread(() -> take(client.get(name)).isHeld());
    assertThat(taken).isTrue();
    eventually("the leak is noticed", LONG, () -> {
      System.gc();
      return leaks.get() == 1;
    });
    takeWhenFree(other, name, ttl().plus(slack())).close();
  }

  @Rule("L-10.9")
  @Test
  void aListenerIsToldWhatHappens() {
    String name = freshName();
    List<String> events = Collections.synchronizedList(new ArrayList<>());
    Thread caller = Thread.currentThread();
    LockClient client = client(builder -> builder.addListener(new LockListener() {
      private void add(LockEvent event, String what) {
        if (event.lockName().equals(name)) {
          events.add(what + (Thread.currentThread() == caller ? "" : " elsewhere"));
        }
      }

      @Override
      public void acquired(Acquired event) {
        add(event, "acquired " + event.source());
      }

      @Override
      public void notAcquired(NotAcquired event) {
        add(event, "notAcquired " + event.failure().isPresent());
      }

      @Override
      public void released(Released event) {
        add(event, "released " + event.confirmed());
        throw new IllegalStateException("thrown by a listener of the kit, on purpose");
      }
    }));
    LockClient other = client();
    Lease elsewhere = take(other.get(name));
    assertThat(client.get(name).tryLock()).isEmpty();
    elsewhere.close();
    Lease outer = take(client.get(name));
    Lease inner = take(client.get(name));
    inner.close();
    outer.close();
    assertThat(events)
        .containsExactly(
            "notAcquired false", "acquired STORE", "acquired REENTRANT", "released true");
  }

  @Rule("L-10.9")
  @Test
  void aListenerIsToldOnceThatACallerWaits() {
    String name = freshName();
    List<String> events = Collections.synchronizedList(new ArrayList<>());
    LockClient client = client(builder -> builder.addListener(new LockListener() {
      private void add(LockEvent event, String what) {
        if (event.lockName().equals(name)) {
          events.add(Thread.currentThread().getName() + " " + what);
        }
      }

      @Override
      public void waiting(LockEvent event) {
        add(event, "waits");
        throw new IllegalStateException("thrown by a listener of the kit, on purpose");
      }

      @Override
      public void acquired(Acquired event) {
        add(event, "acquired");
      }

      @Override
      public void notAcquired(NotAcquired event) {
        add(event, "notAcquired");
      }
    }));
    DistributedLock lock = client.get(name, lasting());
    Lease elsewhere = take(client().get(name, lasting()));
    Worker<Boolean> impatient = startNamed("impatient", () -> {
      assertThat(lock.tryLock()).isEmpty();
      assertThat(lock.tryLock(Duration.ZERO)).isEmpty();
      return true;
    });
    assertThat(impatient.get(LONG)).isTrue();
    // The first waits in the store's queue; the second waits behind it in the client's, and then in
    // the store's.
    Worker<Boolean> first =
        startNamed("first", () -> lock.tryLock(quiet().multipliedBy(2)).isPresent());
    awaitTold(events, "first waits");
    Worker<Lease> second = startNamed("second", lock::lock);
    awaitTold(events, "second waits");
    assertThat(first.get(LONG)).isFalse();
    never("the second gets a taken lock", quiet(), second::isDone);
    elsewhere.close();
    Lease held = second.get(slack());
    // The third waits for a thread of its client that has the lock.
    Worker<Lease> third = startNamed("third", lock::lock);
    awaitTold(events, "third waits");
    held.close();
    third.get(slack()).close();
    Worker<Boolean> free = startNamed("unopposed", () -> {
      lock.lock().close();
      return true;
    });
    assertThat(free.get(LONG)).isTrue();

    assertThat(ofThread("impatient", events))
        .as("events of calls that do not wait")
        .containsExactly("impatient notAcquired", "impatient notAcquired");
    assertThat(ofThread("first", events))
        .as("events of a wait that runs out")
        .containsExactly("first waits", "first notAcquired");
    assertThat(ofThread("second", events))
        .as("events of a wait in two queues")
        .containsExactly("second waits", "second acquired");
    assertThat(ofThread("third", events))
        .as("events of a wait for a thread of the same client")
        .containsExactly("third waits", "third acquired");
    assertThat(ofThread("unopposed", events))
        .as("events of a call that finds the lock free")
        .containsExactly("unopposed acquired");
  }

  private <T> Worker<T> startNamed(String threadName, Callable<T> body) {
    return start(() -> {
      Thread.currentThread().setName(threadName);
      return body.call();
    });
  }

  private void awaitTold(List<String> events, String event) {
    eventually("the listener is told '" + event + "'", slack(), () -> events.contains(event));
  }

  private static List<String> ofThread(String name, List<String> events) {
    return List.copyOf(events).stream()
        .filter(event -> event.startsWith(name + " "))
        .toList();
  }

  @Rule("L-10.9")
  @Test
  void aListenerIsToldThatALeaseWasRenewedOrExtended() {
    List<Long> renewed = Collections.synchronizedList(new ArrayList<>());
    List<Long> extended = Collections.synchronizedList(new ArrayList<>());
    String fixedName = freshName();
    String renewedName = freshName();
    LockClient client = client(builder -> timed(builder).addListener(new LockListener() {
      @Override
      public void renewed(LeaseEvent event) {
        if (event.lockName().equals(renewedName)) {
          renewed.add(event.token());
        } else if (event.lockName().equals(fixedName)) {
          extended.add(event.token());
        }
      }
    }));
    Lease lease = take(client.get(renewedName));
    Lease fixed = take(client.get(fixedName, LockOptions.fixed(LONG_TTL)));
    eventually(
        "the listener is told of two renewals", ttl().plus(slack()), () -> renewed.size() >= 2);
    assertThat(renewed).containsOnly(lease.token());
    assertThat(extended).as("renewals told of a fixed lease").isEmpty();
    fixed.extend(LONG_TTL);
    eventually("the listener is told of the extension", slack(), () -> extended.size() == 1);
    assertThat(extended).containsExactly(fixed.token());
    lease.close();
    fixed.close();
  }

  @Rule("L-10.12")
  @Requires(Capability.FAULTS)
  @Test
  void waitingThreadsHaveAFewConnectionsAndAskRarelyHoweverManyTheyAre() {
    int threads = 150;
    Link link = link();
    LockClient client = client(link);
    LockClient holder = client();
    List<Lease> held = new ArrayList<>();
    List<Worker<Boolean>> waiting = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      Lease lease = take(holder.get(freshName()));
      held.add(lease);
      waiting.add(startStep(() -> client.get(lease.name()).lock().close()));
    }
    waiting.forEach(RuleTest::awaitWaiting);
    // The fewest of three counts, since all may ask at once when they begin to hear.
    Duration time = Duration.ofSeconds(2);
    assertThat(requests(link, 1, () -> pause(time)) / time.toSeconds())
        .as("requests a second while %s threads wait for as many names", threads)
        .isLessThan(threads / 2);
    assertThat(link.connectionsMade())
        .as("connections of %s threads that wait for as many names", threads)
        .isLessThan(threads / 2);
    held.forEach(Lease::close);
    waiting.forEach(worker -> worker.get(LONG));
  }

  @Rule("L-10.13")
  @Test
  void aThreadOfAClientInheritsNoThreadLocals() {
    ThreadStarts starts = new ThreadStarts();
    starts.set("of a request");
    try {
      LockClient client = client();
      Lease lease = take(client().get(freshName()));
      Worker<Lease> waiting = start(() -> client.get(lease.name()).lock());
      awaitWaiting(waiting);
      lease.close();
      waiting.get(slack()).close();
      client.close();
    } finally {
      starts.remove();
    }
    assertThat(starts.found).as("started a thread that inherited thread locals").isEmpty();
  }

  /** A thread local that notes what code of ours starts a thread that inherits it. */
  private static final class ThreadStarts extends InheritableThreadLocal<String> {
    final List<String> found = Collections.synchronizedList(new ArrayList<>());

    @Override
    protected String childValue(String value) {
      StackWalker.getInstance()
          .walk(frames -> frames
              .map(StackWalker.StackFrame::getClassName)
              .filter(
                  name -> !name.startsWith("java.") && !name.equals(getClass().getName()))
              .findFirst())
          .filter(name -> name.startsWith("io.holdfast."))
          .filter(name -> !name.startsWith("io.holdfast.lock.tck.rules."))
          .ifPresent(found::add);
      return value;
    }
  }
}
