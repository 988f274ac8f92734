package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.Link.Direction;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * The faults of one schedule. A pure function of the store, the seed and the length: whoever knows
 * these three has the same plan.
 *
 * @param steps by their beginnings; at most two at a time
 */
record Plan(StoreKind store, long seed, int seconds, List<Step> steps) {
  static final int WORKERS = 3;

  private static final int BEGIN_MILLIS = 1_000;

  /** Before the end all is well, so that the end of a fault is in the schedule too. */
  private static final int END_MILLIS = 1_000;

  /** Between two faults of one thing, so that the first has ended when the second begins. */
  private static final int APART_MILLIS = 400;

  /** A machine that is suspended within a second of a step of its clock may not see it (L-9.5). */
  private static final int APART_MILLIS_OF_WORKER = 2_000;

  private static final int TRIES_MAX = 20;

  /**
   * A fault and its time.
   *
   * @param beginMillis from the beginning of the schedule
   */
  record Step(int beginMillis, int endMillis, Fault fault) {
    private boolean meets(Step other) {
      int apart = fault instanceof Fault.OfWorker ? APART_MILLIS_OF_WORKER : APART_MILLIS;
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
    Dice dice = new Dice(store, seed, seconds);
    List<Step> steps = new ArrayList<>();
    dice.fill(steps, 200, 2_500);
    dice.fill(steps, 2_000, 7_000);
    steps.sort(Comparator.comparingInt(Step::beginMillis).thenComparing(s -> s.fault.target()));
    return new Plan(store, seed, seconds, List.copyOf(steps));
  }

  /** The plan as text, for {@code --replay} and for the log. */
  String text() {
    StringBuilder text = new StringBuilder();
    text.append("plan of ").append(store.option()).append(", seed ").append(seed);
    text.append(", ").append(seconds).append(" s:\n");
    for (Step step : steps) {
      text.append("  ").append(step).append('\n');
    }
    return text.toString();
  }

  /** What makes plans: {@link Random}, whose numbers are specified. */
  private static final class Dice {
    private final Random random;
    private final StoreKind store;
    private final int endMillis;

    Dice(StoreKind store, long seed, int seconds) {
      this.random = new Random(mix(seed * 31 + store.option().hashCode()));
      this.store = store;
      this.endMillis = seconds * 1_000 - END_MILLIS;
    }

    /** Neighbouring seeds of a Random begin with neighbouring numbers. */
    private static long mix(long seed) {
      long mixed = (seed + 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
      mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
      return mixed ^ (mixed >>> 31);
    }

    /** Adds one fault after the other, with pauses in between. */
    void fill(List<Step> steps, int pauseMillisMin, int pauseMillisMax) {
      int at = BEGIN_MILLIS + random.nextInt(pauseMillisMax);
      while (at < endMillis - BEGIN_MILLIS) {
        for (int tries = 0; tries < TRIES_MAX; tries++) {
          Step step = new Step(at, Math.min(at + length(), endMillis), fault());
          if (steps.stream().noneMatch(step::meets)) {
            steps.add(step);
            at = step.endMillis;
            break;
          }
        }
        at += pauseMillisMin + random.nextInt(pauseMillisMax - pauseMillisMin);
      }
    }

    /** Shorter than the store timeout; than the TTL; longer than both. */
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
      return switch (random.nextInt(23)) {
        case 0, 1 -> new Fault.KillWorker(worker);
        case 2, 3, 4 -> new Fault.FreezeWorker(worker);
        case 5 -> new Fault.Refuse(worker);
        case 6 -> new Fault.Cuts(worker);
        case 7, 8 -> new Fault.Silence(worker);
        case 9 -> new Fault.Delay(worker, direction, 20 + random.nextInt(1_500));
        case 10, 11 -> new Fault.DeliverLate(worker, direction);
        case 12 -> new Fault.Lose(worker, direction);
        case 13, 14 -> new Fault.LoseReplies(worker, 1 + random.nextInt(5));
        case 15 -> new Fault.Outage();
        case 16, 17 -> new Fault.KillServer(server);
        case 18 -> new Fault.PauseServer(server);
        case 19, 20 -> new Fault.SuspendWorker(worker);
        case 21 -> new Fault.SetClock(worker, random.nextInt(20_000) - 10_000);
        default -> new Fault.StopServer(server);
      };
    }
  }
}
