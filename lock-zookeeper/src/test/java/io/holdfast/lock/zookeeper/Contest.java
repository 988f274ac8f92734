package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Threads of several clients, each in a session of its own, that take locks again and again, and
 * all that they saw.
 */
final class Contest {
  private static final Duration END_MAX = Duration.ofSeconds(40);

  private final List<Thread> threads = new ArrayList<>();
  private final Queue<Turn> turns = new ConcurrentLinkedQueue<>();
  private final Queue<Throwable> surprises = new ConcurrentLinkedQueue<>();
  private volatile boolean stopped;

  /**
   * A turn that is over, or goes on.
   *
   * @param contender who had it
   * @param beganNanos when {@code lock()} had returned
   * @param told how often its holder was told of a loss
   */
  record Turn(
      String contender, String name, long token, long beganNanos, AtomicInteger told, End end) {}

  /** The outcome of a turn. */
  static final class End {
    /** The time at which the holder last looked and was told that it holds the lock. */
    private volatile long believedNanos;

    private volatile boolean lost;
    private volatile boolean over;
  }

  /** Lets a client take a lock again and again, for a moment each. */
  void enter(String contender, LockClient client, String name) {
    start(contender, () -> {
      while (!stopped) {
        take(contender, client, name, Duration.ofMillis(1));
      }
    });
  }

  /** Lets a client take a lock once, and not let go of it before it is lost. */
  void enterToStay(String contender, LockClient client, String name) {
    start(contender, () -> take(contender, client, name, Duration.ofDays(1)));
    Await.untilAnswered(
        contender + " has " + name,
        () -> turns.stream().anyMatch(turn -> turn.contender().equals(contender)));
  }

  private interface Body {
    void run() throws InterruptedException;
  }

  private void start(String contender, Body body) {
    Thread thread = new Thread(
        () -> {
          try {
            body.run();
          } catch (InterruptedException | RuntimeException | Error e) {
            surprises.add(e);
          }
        },
        contender);
    threads.add(thread);
    thread.start();
  }

  private void take(String contender, LockClient client, String name, Duration hold)
      throws InterruptedException {
    Lease lease;
    try {
      lease = client.get(name).lock();
    } catch (LockStoreException e) {
      // A server is gone; the next attempt shows whether the others carry on.
      return;
    }
    Turn turn =
        new Turn(contender, name, lease.token(), System.nanoTime(), new AtomicInteger(), new End());
    turn.end().believedNanos = turn.beganNanos();
    lease.onLost(loss -> turn.told().incrementAndGet());
    turns.add(turn);
    long nowNanos = turn.beganNanos();
    while (nowNanos - turn.beganNanos() < hold.toNanos() && !stopped) {
      Thread.sleep(1);
      // Read before the look: the belief lasted at least until then.
      nowNanos = System.nanoTime();
      if (!lease.isHeld()) {
        break;
      }
      turn.end().believedNanos = nowNanos;
    }
    try {
      lease.close();
    } catch (LockLostException e) {
      turn.end().lost = true;
    }
    turn.end().over = true;
  }

  /** The number of turns of this lock that began later than that. */
  long turnsAfter(String name, long nanos) {
    return turns.stream()
        .filter(turn -> turn.name().equals(name) && turn.beganNanos() - nanos > 0)
        .count();
  }

  /** The beginning of the first turn of this lock after that moment. */
  long firstTurnAfter(String name, long nanos) {
    return turns.stream()
        .filter(turn -> turn.name().equals(name) && turn.beganNanos() - nanos > 0)
        .mapToLong(Turn::beganNanos)
        .min()
        .orElseThrow();
  }

  /** Waits until the contender has had this many turns more. */
  void awaitTurns(String contender, int more) {
    long before = turnsOf(contender);
    Await.untilAnswered(
        contender + " has " + more + " turns more", () -> turnsOf(contender) >= before + more);
  }

  private long turnsOf(String contender) {
    return turns.stream().filter(turn -> turn.contender().equals(contender)).count();
  }

  void stop() throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join(END_MAX.toMillis());
      assertThat(thread.isAlive()).as("%s still waits", thread.getName()).isFalse();
    }
    assertThat(surprises).isEmpty();
  }

  /** The turns that were lost. */
  List<Turn> lost() {
    return turns.stream().filter(turn -> turn.end().lost).toList();
  }

  /** Of each lock: tokens rise in the order of the turns, and no holder believed too long. */
  void assertThatNoTwoHeldALockAtOnce() {
    Map<String, List<Turn>> byName =
        turns.stream().collect(Collectors.groupingBy(Turn::name, Collectors.toList()));
    byName.forEach((name, all) -> {
      List<Turn> inOrder =
          all.stream().sorted(Comparator.comparingLong(Turn::beganNanos)).toList();
      for (int i = 1; i < inOrder.size(); i++) {
        Turn before = inOrder.get(i - 1);
        Turn after = inOrder.get(i);
        assertThat(after.token())
            .as("the token of %s, after %s", after, before)
            .isGreaterThan(before.token());
        assertThat(after.beganNanos() - before.end().believedNanos)
            .as("nanoseconds from the last moment of %s to the first of %s", before, after)
            .isPositive();
      }
    });
  }

  /** Everybody who lost a lease was told of it, once; and nobody else. */
  void assertThatWhoLostWasTold() {
    for (Turn turn : turns) {
      assertThat(turn.end().over).as("%s is over", turn).isTrue();
      if (turn.end().lost) {
        Await.untilAnswered(turn + " is told", () -> turn.told().get() > 0);
      }
      assertThat(turn.told()).as("%s, told", turn).hasValue(turn.end().lost ? 1 : 0);
    }
  }

  /** The last token of all. */
  long highestToken(String name) {
    return turns.stream()
        .filter(turn -> turn.name().equals(name))
        .mapToLong(Turn::token)
        .max()
        .orElseThrow();
  }
}
