package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Which attempts live in a session. */
class SessionTest {
  @Test
  void theEndOfAnEarlierAttemptOfAClaimLeavesTheNextInItsSession() {
    Session session = new Session("id", 10, false, new Session.Sent(0, 0), 1, Duration.ZERO);
    Claim claim = OpenStore.claim("twice");
    Attempt earlier = new Attempt(claim, session, "earlier", 0, 0);
    Attempt next = new Attempt(claim, session, "next", 0, 0);
    assertThat(session.add(earlier)).isTrue();
    assertThat(session.add(next)).isTrue();
    session.remove(earlier, 0);
    assertThat(session.attempts()).containsExactly(next);
    assertThat(session.retireIfUnused()).isFalse();
    session.remove(next, 0);
    assertThat(session.isUnused()).isTrue();
  }
}
