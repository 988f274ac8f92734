package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Entries from a semaphore's line, and their permits; without a server. */
class PermitLineTest {
  private static final LockKey KEY = new LockKey(LockKind.PERMIT, "any");
  private static final int PERMITS = 3;

  private int sequence;

  private static Claim claim(int permits) {
    return new Claim(
        KEY,
        new Claim.Permit(permits),
        Claims.freshOwnerId(),
        Stores.TTL,
        Duration.ZERO,
        "of a test");
  }

  /** The next node in line. */
  private String node(int permits, int permit) {
    return Names.ofAttempt(claim(permits), permit) + "%010d".formatted(sequence++);
  }

  private String waiter() {
    return node(PERMITS, Names.NO_PERMIT);
  }

  private static Turn turn(int permit, String... before) throws StoreException {
    List<String> names = List.of(before);
    Line line = Line.of("/p", names);
    return line.turn(line.places().size(), claim(PERMITS), permit);
  }

  @Test
  void whoHasFewerThanThePermitsBeforeItEntersAndKeepsItsPermitIfNoneOfThemHasIt()
      throws StoreException {
    String one = node(PERMITS, 0);
    String other = node(PERMITS, 2);
    assertThat(turn(2)).isEqualTo(new Turn.Now(2));
    assertThat(turn(Names.NO_PERMIT)).isEqualTo(new Turn.Now(0));
    assertThat(turn(1, one, other)).isEqualTo(new Turn.Now(1));
    assertThat(turn(2, one, other)).isEqualTo(new Turn.Now(1));
    assertThat(turn(Names.NO_PERMIT, one, other)).isEqualTo(new Turn.Now(1));
    assertThat(turn(1, one, other, node(PERMITS, 1))).isEqualTo(new Turn.Full(null));
  }

  @Test
  void nobodyPassesWhoWaitsOrWhatItDoesNotKnow() throws StoreException {
    String holder = node(PERMITS, 0);
    String waiter = waiter();
    String later = "later-" + node(PERMITS, 1);
    assertThat(blocker(turn(1, holder, waiter))).isEqualTo(waiter);
    assertThat(blocker(turn(1, holder, waiter, node(PERMITS, 2)))).isEqualTo(waiter);
    assertThat(blocker(turn(Names.NO_PERMIT, holder, waiter, later))).isEqualTo(later);
    assertThat(blocker(turn(1, holder, node(PERMITS + 1, 1))))
        .as("one behind the first that knows another number")
        .endsWith("4");
  }

  private static @Nullable String blocker(Turn turn) {
    return turn instanceof Turn.Behind behind ? behind.place().name() : null;
  }

  @Test
  void theNumberOfPermitsIsThatOfTheFirst() {
    for (int permit : new int[] {0, Names.NO_PERMIT}) {
      String first = node(2, permit);
      assertThatExceptionOfType(PermitsDifferException.class)
          .isThrownBy(() -> turn(1, first, node(PERMITS, 1)))
          .satisfies(e -> assertThat(e.stored()).isEqualTo(2));
    }
  }

  @Test
  void aMarkHasItsPermitAndItsNumberOfPermits() throws StoreException {
    String mark = Names.ofMark(7) + "p3.1";
    assertThat(turn(1, mark)).isEqualTo(new Turn.Now(2));
    assertThat(turn(1, mark, node(PERMITS, 2))).isEqualTo(new Turn.Now(0));
    assertThat(turn(2, mark, node(PERMITS, 0))).isEqualTo(new Turn.Now(2));
    assertThat(turn(2, mark, node(PERMITS, 0), node(PERMITS, 2))).isEqualTo(new Turn.Full(null));
    assertThat(turn(0, Names.ofMark(7) + "p2.1"))
        .as("until it is known whether the mark's time is over")
        .isEqualTo(new Turn.Full(null));
  }

  @Test
  void thoseWithAPermitUpToTheFirstThatWaitsAreInside() throws StoreException {
    List<String> names = new ArrayList<>(List.of(node(PERMITS, 2), node(PERMITS, 0)));
    List<String> inside = List.copyOf(names);
    names.add(waiter());
    names.add(node(PERMITS, 1));
    assertThat(Line.of("/p", names).inside())
        .extracting(Place::name)
        .containsExactlyElementsOf(inside);
    assertThat(Line.of("/p", List.of(waiter())).inside()).isEmpty();
  }

  /** A mistake of the attempts. */
  enum Mistake {
    NONE,
    /** One that can't enter with its permit waits at its place. */
    WAITS_AT_ITS_PLACE,
    /** One that waits makes a new node to enter. */
    ENTERS_AT_THE_END,
    /** It enters with its permit though another has it, or with any other. */
    TAKES_ANY_PERMIT,
    /** It enters though another waits before it. */
    PASSES_WHO_WAITS,
    /** It takes a mark for nothing. */
    IGNORES_MARKS
  }

  @ParameterizedTest
  @EnumSource(Mistake.class)
  void inAnyOrderOfStepsNoPermitIsHeldTwiceAndItsNumbersRise(Mistake mistake)
      throws StoreException {
    String wrong = null;
    for (int seed = 0; wrong == null && seed < 1_000; seed++) {
      wrong = new Simulation(seed, mistake).run();
    }
    if (mistake == Mistake.NONE) {
      assertThat(wrong).isNull();
    } else {
      assertThat(wrong).isNotNull();
    }
  }

  /**
   * Attempts whose steps are taken in random order: each creates its node, lists the line, and acts
   * on that listing at any time later.
   */
  private static final class Simulation {
    private static final int ATTEMPTS = 12;
    private static final int STEPS_MAX = 5_000;

    private final Random random;
    private final Mistake mistake;
    private final int permits;
    private final List<String> nodes = new ArrayList<>();
    private final Map<Integer, Attempt> inside = new HashMap<>();
    private final Map<Integer, Integer> lastNumber = new HashMap<>();
    private final List<Attempt> attempts = new ArrayList<>();
    private int sequence;
    private @Nullable String wrong;

    Simulation(int seed, Mistake mistake) {
      this.random = new Random(seed);
      this.mistake = mistake;
      this.permits = 1 + random.nextInt(3);
    }

    /** Returns what went wrong, or null. */
    @Nullable
    String run() throws StoreException {
      for (int i = 0; i < ATTEMPTS; i++) {
        attempts.add(new Attempt());
      }
      for (int step = 0; !attempts.isEmpty() && wrong == null; step++) {
        if (step == STEPS_MAX) {
          return "somebody waits for ever: " + nodes;
        }
        Attempt attempt = attempts.get(random.nextInt(attempts.size()));
        if (!attempt.step()) {
          attempts.remove(attempt);
        }
        if (random.nextInt(20) == 0) {
          nodes.removeIf(node -> node.startsWith(Names.MARK_PREFIX));
        }
      }
      return wrong;
    }

    private final class Attempt {
      private final Claim claim = claim(permits);
      private final boolean once = random.nextInt(4) == 0;
      private @Nullable String node;
      private int number;
      private int permit;
      private @Nullable Line listed;

      /** Takes a step; returns whether there is another. */
      boolean step() throws StoreException {
        if (node == null) {
          create(random.nextInt(3) == 0 ? Names.NO_PERMIT : random.nextInt(permits));
        } else if (inside.get(permit) == this) {
          return random.nextInt(3) != 0 || leave();
        } else if (random.nextInt(40) == 0) {
          nodes.remove(node); // Its session ended.
          return false;
        } else if (listed == null) {
          listed = Line.of("/p", nodes);
          if (mistake == Mistake.IGNORES_MARKS) {
            listed = listed.withMarks(List.of());
          }
        } else {
          Line line = listed;
          listed = null;
          return decide(line);
        }
        return true;
      }

      private void create(int newPermit) {
        number = sequence++;
        permit = newPermit;
        node = Names.ofAttempt(claim, permit) + "%010d".formatted(number);
        nodes.add(node);
      }

      private void rename(int newPermit) {
        nodes.remove(node);
        permit = newPermit;
        node = Names.ofAttempt(claim, permit) + "%010d".formatted(number);
        nodes.add(node);
      }

      private boolean decide(Line line) throws StoreException {
        Turn turn = line.turn(line.indexOf(node), claim, permit);
        if (mistake == Mistake.PASSES_WHO_WAITS
            && turn instanceof Turn.Behind
            && line.places().size() < permits) {
          turn = new Turn.Now(permit);
        }
        if (mistake == Mistake.TAKES_ANY_PERMIT && turn instanceof Turn.Now) {
          turn = new Turn.Now(Math.max(0, permit));
        }
        if (turn instanceof Turn.Now now && now.permit() != Names.NO_PERMIT) {
          if (permit == now.permit()) {
            enter();
          } else if (permit == Names.NO_PERMIT) {
            if (mistake == Mistake.ENTERS_AT_THE_END) {
              nodes.remove(node);
              create(now.permit());
            } else {
              rename(now.permit());
            }
            enter();
          } else {
            giveWay();
          }
        } else if (once) {
          nodes.remove(node);
          return false;
        } else if (permit != Names.NO_PERMIT) {
          giveWay();
        }
        return true;
      }

      /** Stands at the end of the line, to wait. */
      private void giveWay() {
        if (mistake == Mistake.WAITS_AT_ITS_PLACE) {
          rename(Names.NO_PERMIT);
        } else {
          nodes.remove(node);
          create(Names.NO_PERMIT);
        }
      }

      private void enter() {
        if (inside.putIfAbsent(permit, this) != null) {
          wrong = "permit " + permit + " is held twice";
        } else if (lastNumber.getOrDefault(permit, -1) >= number) {
          wrong = "the numbers of permit " + permit + " do not rise";
        } else if (nodes.stream()
            .anyMatch(
                other -> other.startsWith(Names.MARK_PREFIX) && other.endsWith("." + permit))) {
          wrong = "permit " + permit + " is kept by a mark";
        }
        lastNumber.put(permit, number);
      }

      private boolean leave() {
        nodes.remove(node);
        inside.remove(permit);
        if (random.nextInt(4) == 0) {
          nodes.add(Names.ofMark(number) + "p" + permits + "." + permit);
        }
        return false;
      }
    }
  }
}
