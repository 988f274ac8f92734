package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Verdicts on a session, by a clock that the test sets and without a server. */
class SessionTrustTest {
  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  private final StillTime time = new StillTime();
  private SessionTrust trust = new SessionTrust(time);
  private Handle zk;

  @BeforeEach
  void open() throws Exception {
    zk = new Handle(TIMEOUT);
  }

  @AfterEach
  void close() throws Exception {
    zk.close();
  }

  /** Clocks that stand still until they are set. */
  private static final class StillTime implements TimeSource {
    private volatile Duration now = Duration.ZERO;

    void set(Duration sinceStart) {
      now = sinceStart;
    }

    void pass(Duration more) {
      now = now.plus(more);
    }

    @Override
    public long nanos() {
      return now.toNanos();
    }

    @Override
    public long wallMillis() {
      return now.toMillis();
    }

    @Override
    public void park(Object blocker, long nanos) {
      throw new UnsupportedOperationException();
    }
  }

  /** A handle that never connects, and says of its session what it is told to. */
  @SuppressWarnings("try") // close() is ZooKeeper's, and can be interrupted
  private static final class Handle extends ZooKeeper {
    private volatile Duration timeout;

    Handle(Duration timeout) throws IOException {
      super("127.0.0.1:1", 1_000, event -> {});
      this.timeout = timeout;
    }

    void reconnect(Duration lower) {
      timeout = lower;
    }

    @Override
    public long getSessionId() {
      return 1;
    }

    @Override
    public int getSessionTimeout() {
      return (int) timeout.toMillis();
    }
  }

  /** Returns for how long the session lives by a write that is confirmed at once. */
  private SessionTrust.Lifetime lifetime() {
    return trust.noteConfirmed(trust.request(zk));
  }

  private Duration confirm() {
    return lifetime().lives();
  }

  /** A request that was answered so long ago that the leader has heard of it. */
  private void getKnown() {
    trust.noteAnswered(trust.request(zk));
    time.pass(TIMEOUT.dividedBy(4));
  }

  @Test
  void aSessionThatIsNewIsTrustedForAQuarterUntilTheLeaderHasHeardOfOurFirstRequest() {
    trust.noteAnswered(trust.request(zk));
    assertThat(confirm()).isEqualTo(TIMEOUT.dividedBy(4));
    time.pass(TIMEOUT.dividedBy(4).minusMillis(1));
    assertThat(confirm()).isEqualTo(TIMEOUT.dividedBy(4));
    time.pass(Duration.ofMillis(1));
    assertThat(confirm()).isEqualTo(TIMEOUT.dividedBy(2));
  }

  @Test
  void aSessionThatReplacedALostOneIsNewAgain() {
    getKnown();
    assertThat(confirm()).isEqualTo(TIMEOUT.dividedBy(2));
    trust.forget();
    assertThat(confirm()).isEqualTo(TIMEOUT.dividedBy(4));
  }

  /** Also in the moment in which the quarter is over for a write, but not yet for the answer. */
  @Test
  void inASessionThatIsNewAHolderMayStartAtAnyTime() {
    SessionTrust.Request first = trust.request(zk);
    Duration answeredAfter = TIMEOUT.dividedBy(20);
    time.pass(answeredAfter);
    trust.noteAnswered(first);
    for (int i = 0; i < 1_000; i++) {
      assertThat(SessionTrust.isEnough(zk, lifetime())).as("after %s", time.now).isTrue();
      time.pass(TIMEOUT.dividedBy(1_000));
    }
  }

  /**
   * A session of a client that is never silent for longer than its own connection bears, on servers
   * that report at some time of every half tick, is said to live no longer than the leader lets it
   * live if it hears no more after the write. Once we know the session, it may be silent for any
   * time.
   */
  @ParameterizedTest(name = "{0} ticks, silent for {1} of {2} of the timeout before we came")
  @CsvSource({"6, 2, 3", "4, 5, 8", "2, 1, 2"})
  void nothingIsSaidThatTheLeaderDoesNotKeep(int ticks, int silent, int of) {
    Duration halfTick = TIMEOUT.dividedBy(2L * ticks);
    Duration silenceMax = TIMEOUT.multipliedBy(silent).dividedBy(of);
    int said = 0;
    for (int seed = 0; seed < 2_000; seed++) {
      Random random = new Random(seed);
      Leader leader = new Leader(halfTick, upTo(random, halfTick));
      trust = new SessionTrust(time);
      time.set(TIMEOUT.multipliedBy(10));
      Duration arrived = time.now.plus(upTo(random, TIMEOUT.dividedBy(random.nextInt(2, 100))));
      Duration before = arrived;
      for (int i = 0; i < 5; i++) {
        before = before.minus(upTo(random, silenceMax));
        leader.contacts.add(before);
      }
      for (int i = 0; i < 30 && leader.lives(arrived); i++) {
        leader.contacts.add(arrived);
        SessionTrust.Request request = trust.request(zk);
        time.set(arrived.plus(upTo(random, TIMEOUT.dividedBy(random.nextInt(2, 100)))));
        if (random.nextBoolean()) {
          SessionTrust.Lifetime trusted = trust.noteConfirmed(request);
          assertThat(trusted.countedFrom(0).toNanos())
              .as("seed %s, %s after the first request", seed, time.now)
              .isLessThanOrEqualTo(leader.end(arrived).toNanos());
          said += trusted.lives().isZero() ? 0 : 1;
        } else {
          trust.noteAnswered(request);
        }
        time.pass(upTo(random, TIMEOUT.dividedBy(random.nextInt(1, 20))));
        arrived = time.now.plus(upTo(random, TIMEOUT.dividedBy(random.nextInt(2, 100))));
      }
    }
    assertThat(said).as("writes that something was said of").isGreaterThan(2_000);
  }

  private static Duration upTo(Random random, Duration most) {
    return Duration.ofNanos(random.nextLong(most.toNanos() + 1));
  }

  /** The leader, as far as it hears of the session from the server that the client uses. */
  private static final class Leader {
    private final Duration halfTick;
    private final Duration phase;
    private final List<Duration> contacts = new ArrayList<>();

    Leader(Duration halfTick, Duration phase) {
      this.halfTick = halfTick;
      this.phase = phase;
    }

    /**
     * Returns the time until which the session lives if no report comes after this: the timeout
     * counts from the last report that was made of a contact.
     */
    Duration end(Duration cutOff) {
      long untilNanos = cutOff.minus(phase).toNanos();
      long halfTickNanos = halfTick.toNanos();
      long heardNanos = contacts.stream()
          .mapToLong(contact -> contact.minus(phase).toNanos())
          .map(nanos -> -Math.floorDiv(-nanos, halfTickNanos) * halfTickNanos)
          .filter(reportNanos -> reportNanos <= untilNanos)
          .max()
          .orElseThrow();
      return phase.plusNanos(heardNanos).plus(TIMEOUT);
    }

    boolean lives(Duration at) {
      return end(at).compareTo(at) > 0;
    }
  }

  @Test
  void whatWasSentBeforeAnotherRequestWasSeenToFailDoesNotComeAfterTheReconnect() {
    getKnown();
    time.pass(TIMEOUT.dividedBy(2));
    SessionTrust.Request failing = trust.request(zk);
    SessionTrust.Request before = trust.request(zk);
    time.pass(Duration.ofSeconds(1));
    trust.noteDisconnected(failing);
    SessionTrust.Request after = trust.request(zk);
    assertThat(trust.noteConfirmed(before).lives()).isEqualTo(TIMEOUT.dividedBy(4));
    assertThat(trust.noteConfirmed(after).lives()).isEqualTo(TIMEOUT.dividedBy(2));
  }

  @Test
  void whatWasSaidBeforeTheFirstOfTwoLoweringsIsNotForgotten() {
    getKnown();
    assertThat(confirm()).isEqualTo(Duration.ofSeconds(60));
    zk.reconnect(Duration.ofSeconds(60));
    trust.noteSession(zk);
    zk.reconnect(Duration.ofSeconds(20));
    trust.noteSession(zk);
    // Later than half of the second timeout, sooner than half of the first.
    time.pass(Duration.ofSeconds(40));
    assertThat(trust.isOverdrawn(Duration.ZERO)).isTrue();
  }

  /** A write on the new connection is confirmed before the news of that connection comes. */
  @Test
  void whatWasSaidBeforeALoweringThatAWriteMetFirstIsNotForgotten() {
    getKnown();
    assertThat(confirm()).isEqualTo(Duration.ofSeconds(60));
    zk.reconnect(Duration.ofSeconds(20));
    assertThat(confirm()).isLessThanOrEqualTo(Duration.ofSeconds(10));
    trust.noteSession(zk);
    time.pass(Duration.ofSeconds(20));
    assertThat(trust.isOverdrawn(Duration.ZERO)).isTrue();
  }

  @ParameterizedTest(name = "{0} times the old timeout")
  @CsvSource({"2, 0", "3, 5", "6, 5"})
  void whatIsGrantedAfterAReconnectThatRaisedTheTimeout(int times, int sixteenthsUntil) {
    getKnown();
    assertThat(SessionTrust.isEnough(zk, lifetime())).isTrue();
    Duration raised = TIMEOUT.multipliedBy(times);
    zk.reconnect(raised);
    trust.noteSession(zk);
    Duration step = raised.dividedBy(640);
    int stepsUntil = 0;
    for (int i = 1; i <= 640; i++) {
      stepsUntil = SessionTrust.isEnough(zk, lifetime()) ? stepsUntil : i;
      time.pass(step);
    }
    assertThat(stepsUntil)
        .as("the last 640th of the new timeout in which nothing is granted")
        .isEqualTo(40 * sixteenthsUntil);
  }
}
