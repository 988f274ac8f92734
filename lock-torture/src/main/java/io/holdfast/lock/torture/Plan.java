package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.Link.Direction;
import io.holdfast.lock.torture.Fault.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;

/**
 * The faults of one schedule: a pure function of the store, the seed and the length.
 *
 * @param steps the faults, sorted by their beginning; at most two at a time
 */
record Plan(StoreKind store, long seed, int seconds, List<Step> steps) {
  static final int WORKERS = 3;

  private static final int BEGIN_MILLIS = 1_000;

  /** The time without faults at the end, so that the end of a fault is in the schedule too. */
  private static final int END_MILLIS = 1_000;

  /** The pause between faults of one target, so that one has ended when the next begins. */
  private static final int APART_MILLIS = 400;

  /**
   * The pause of a worker: one suspended within a second of a step of its clock may miss it
   * (L-9.5).
   */
  private static final int APART_MILLIS_OF_WORKER = 2_000;

  private static final int TRIES_MAX = 20;

  /** The length of schedule from which on there is an outage of minutes, one in each such span. */
  static final int LONG_SECONDS = 300;

  /**
   * The first seed whose plans set the wall clocks of servers. Plans of lower seeds stay as they
   * were, so that what they found can be repeated.
   */
  static final long SERVER_CLOCKS_SEED = 1_000_000;

  private static final int NAMES = 3;

  /**
   * A fault and its time.
   *
   * @param beginMillis from the beginning of the schedule
   */
  record Step(int beginMillis, int endMillis, Fault fault) {
    private boolean meets(Step other) {
      int apart =
          fault.kind().target() == Fault.Target.WORKER ? APART_MILLIS_OF_WORKER : APART_MILLIS;
      return beginMillis < other.endMillis + apart
          && other.beginMillis < endMillis + apart
          && fault.meets(other.fault);
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%6.1f s to %6.1f s  %s", beginMillis / 1e3, endMillis / 1e3, fault);
    }
  }

  static Plan of(StoreKind store, long seed, int seconds) {
    return of(store, seed, seconds, EnumSet.allOf(Kind.class));
  }

  /** @param kinds the faults that it may have */
  static Plan of(StoreKind store, long seed, int seconds, Set<Kind> kinds) {
    Dice dice = new Dice(store, seed, seconds, kinds);
    List<Step> steps = new ArrayList<>();
    dice.addLongOutages(steps);
    dice.fill(steps, 200, 2_500);
    dice.fill(steps, 2_000, 7_000);
    steps.sort(Comparator.comparingInt(Step::beginMillis).thenComparing(s -> s.fault.target()));
    return new Plan(store, seed, seconds, List.copyOf(steps));
  }

  /**
   * Returns the longest that a worker may wait for a name after the last fault: a lease from before
   * a server's clock was set back lasts for that much longer.
   */
  Duration recoveryMax() {
    int setBackMillis = steps.stream()
        .map(Step::fault)
        .filter(fault -> fault.kind() == Kind.SET_SERVER_CLOCK)
        .mapToInt(fault -> Math.abs(fault.amount()))
        .max()
        .orElse(0);
    return store.recoveryMax().plusMillis(setBackMillis);
  }

  /** Returns the plan as text. */
  String text() {
    StringBuilder text = new StringBuilder();
    text.append("plan of ").append(store.option()).append(", seed ").append(seed);
    text.append(", ").append(seconds).append(" s:\n");
    for (Step step : steps) {
      text.append("  ").append(step).append('\n');
    }
    return text.toString();
  }

  /** Makes plans from a {@link Random}, whose numbers are specified. */
  private static final class Dice {
    private final Random random;
    private final StoreKind store;
    private final int endMillis;
    private final Set<Kind> kinds;
    private final boolean setsServerClocks;

    Dice(StoreKind store, long seed, int seconds, Set<Kind> kinds) {
      this.random = new Random(mix(seed * 31 + store.option().hashCode()));
      this.store = store;
      this.endMillis = seconds * 1_000 - END_MILLIS;
      this.kinds = kinds;
      this.setsServerClocks = seed >= SERVER_CLOCKS_SEED && store.hasClocksToSet();
    }

    /** Scatters a seed: a Random with a neighbouring one begins with a neighbouring number. */
    private static long mix(long seed) {
      long mixed = (seed + 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
      mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
      return mixed ^ (mixed >>> 31);
    }

    /** Adds outages of 60 to 180 s. Workers and servers have their faults meanwhile. */
    void addLongOutages(List<Step> steps) {
      int longMillis = LONG_SECONDS * 1_000;
      for (int begin = 0; begin + longMillis <= endMillis + END_MILLIS; begin += longMillis) {
        int at = begin + 20_000 + random.nextInt(60_000);
        Step outage = new Step(at, at + 60_000 + random.nextInt(120_000), Kind.OUTAGE.of(0));
        if (kinds.contains(Kind.OUTAGE)) {
          steps.add(outage);
        }
      }
    }

    /** Adds one fault after the other, with pauses in between. */
    void fill(List<Step> steps, int pauseMillisMin, int pauseMillisMax) {
      int at = BEGIN_MILLIS + random.nextInt(pauseMillisMax);
      while (at < endMillis - BEGIN_MILLIS) {
        for (int tries = 0; tries < TRIES_MAX; tries++) {
          Step step = new Step(at, Math.min(at + length(), endMillis), fault());
          if (kinds.contains(step.fault.kind()) && steps.stream().noneMatch(step::meets)) {
            steps.add(step);
            at = step.endMillis;
            break;
          }
        }
        at += pauseMillisMin + random.nextInt(pauseMillisMax - pauseMillisMin);
      }
    }

    /** Returns a length in ms: below the store timeout, below the TTL, or above both. */
    private int length() {
      int kind = random.nextInt(10);
      if (kind < 3) {
        return 200 + random.nextInt(700);
      } else if (kind < 7) {
        return 1_000 + random.nextInt(2_500);
      }
      return 4_200 + random.nextInt(Math.max(5_000, endMillis / 4));
    }

    private Fault fault() {
      int worker = random.nextInt(WORKERS);
      int server = random.nextInt(store.servers());
      Direction direction = random.nextBoolean() ? Direction.REQUESTS : Direction.REPLIES;
      int amount = random.nextInt(20_000);
      return switch (random.nextInt(setsServerClocks ? 36 : 32)) {
        case 0, 1 -> Kind.KILL_WORKER.of(worker);
        case 2, 3, 4 -> Kind.FREEZE_WORKER.of(worker);
        case 5 -> Kind.REFUSE.of(worker);
        case 6 -> Kind.CUTS.of(worker);
        case 7, 8 -> Kind.SILENCE.of(worker);
        case 9 -> Kind.DELAY.of(worker, direction, 20 + amount % 1_500);
        case 10, 11 -> Kind.DELIVER_LATE.of(worker, direction);
        case 12 -> Kind.LOSE.of(worker, direction);
        case 13, 14 -> Kind.LOSE_REPLIES.of(worker, 1 + amount % 5);
        case 15 -> Kind.OUTAGE.of(0);
        case 16, 17 -> Kind.KILL_SERVER.of(server);
        case 18 -> Kind.PAUSE_SERVER.of(server);
        case 19, 20 -> Kind.SUSPEND_WORKER.of(worker);
        case 21 -> Kind.SET_CLOCK.of(worker, amount - 10_000);
        case 22 -> Kind.STOP_SERVER.of(server);
        case 24 -> Kind.LOSE_REQUESTS.of(worker, 1 + amount % 5);
        case 25, 26 -> Kind.SHUT.of(worker, direction);
        case 27 -> Kind.FILL_HEAP.of(worker);
        case 28 -> Kind.EXHAUST_THREADS.of(worker);
        case 32, 33, 34, 35 -> setServerClock(server, amount);
        default -> ofServers(server, amount);
      };
    }

    /** Returns a step of up to 10 s, or one so small that no lease may be lost. */
    private static Fault setServerClock(int server, int amount) {
      int harmless = ServerClocks.HARMLESS_MILLIS;
      return Kind.SET_SERVER_CLOCK.of(
          server, amount % 4 == 0 ? amount / 4 % (2 * harmless + 1) - harmless : amount - 10_000);
    }

    /**
     * Returns a fault that only several servers can have; a single one is stopped or paused once
     * more.
     */
    private Fault ofServers(int server, int amount) {
      boolean isEven = amount % 2 == 0;
      return switch (store) {
        case REDIS_CLUSTER ->
          amount % 3 > 0 ? Kind.MOVE_SLOT.of(amount / 3 % NAMES) : Kind.ROLLING_RESTART.of(0);
        case POSTGRES_2, MYSQL_2 -> (isEven ? Kind.SWITCH_OVER_READ_ONLY : Kind.SWITCH_OVER).of(0);
        case REDIS_SENTINEL, REDIS_QUORUM, ZOOKEEPER_3, CONSUL_3 -> Kind.ROLLING_RESTART.of(0);
        default -> (isEven ? Kind.STOP_SERVER : Kind.PAUSE_SERVER).of(server);
      };
    }
  }
}
