package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The attempts of a session, and the groups in which they are renewed. */
class SessionTest {
  @Test
  void theEndOfAnEarlierAttemptOfAClaimLeavesTheNextInItsSession() {
    Session session = new Session("id", 10, new Session.Moment(0, 0));
    Claim claim = OpenStore.claim("twice");
    Attempt earlier = new Attempt(claim, session, "earlier", 0, TimeSource.system());
    Attempt next = new Attempt(claim, session, "next", 0, TimeSource.system());
    assertThat(session.add(earlier)).isTrue();
    assertThat(session.add(next)).isTrue();
    session.remove(earlier, 0);
    assertThat(session.attempts()).containsExactly(next);
    assertThat(session.retireIfUnused(0)).isFalse();
    session.remove(next, 0);
    assertThat(session.isUnused()).isTrue();
  }

  @Test
  void aRenewalCountsForAWitnessTooOrNotAtAll() {
    Session session = new Session("id", 10, new Session.Moment(0, 0));
    session.noteRenewal(seconds(1), null);
    assertThat(trustedUntil(session)).isEqualTo(seconds(11));
    session.witness("witness");
    session.noteRenewal(seconds(2), null);
    assertThat(trustedUntil(session)).isEqualTo(seconds(11));
    session.noteRenewal(seconds(3), "witness");
    assertThat(trustedUntil(session)).isEqualTo(seconds(13));
  }

  private static Session.Moment seconds(long seconds) {
    return new Session.Moment(TimeUnit.SECONDS.toNanos(seconds), seconds * 1_000);
  }

  /** The time until which a lease without an end may be held that was proved a minute later. */
  private static Session.Moment trustedUntil(Session session) {
    long provedNanos = seconds(60).nanos();
    long untilNanos = session.until(seconds(1_000).nanos(), provedNanos);
    return new Session.Moment(untilNanos, TimeUnit.NANOSECONDS.toMillis(untilNanos));
  }

  @Test
  void whoIsInASessionAtItsEndIsToldToOneCallerThoughSomebodyForgetsIt() {
    Session session = new Session("id", 10, new Session.Moment(0, 0));
    Attempt attempt = new Attempt(OpenStore.claim("ended"), session, "key", 0, TimeSource.system());
    assertThat(session.add(attempt)).isTrue();
    List<Attempt> ended = session.end();
    session.remove(attempt, 0);
    assertThat(ended).containsExactly(attempt);
    assertThat(session.end()).isNull();
  }

  @Test
  void howeverManyComeAndGoNoMoreAreRenewedTogetherThanFitIntoAStoreTimeout() {
    Session session = new Session("id", 10, new Session.Moment(0, 0));
    Deque<Attempt> attempts = new ArrayDeque<>();
    Random random = new Random(17);
    int most = 2 * Session.RENEWED_TOGETHER_MAX;
    for (int round = 0; round < 20; round++) {
      while (attempts.size() < most) {
        Attempt attempt =
            new Attempt(OpenStore.claim("part"), session, "key", 0, TimeSource.system());
        assertThat(session.add(attempt)).isTrue();
        attempts.add(attempt);
      }
      Map<Integer, Long> together = attempts.stream()
          .collect(Collectors.groupingBy(Attempt::renewedWith, Collectors.counting()));
      assertThat(together.values())
          .hasSize(2)
          .allMatch(count -> count <= Session.RENEWED_TOGETHER_MAX);
      int leave = random.nextInt(most);
      for (int i = 0; i < leave; i++) {
        session.remove(attempts.remove(), 0);
      }
    }
  }
}
