package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** Spring Integration's leader election on the registry. */
@Tag("each-spring-integration")
class LeaderElectionTest {
  private static final String ROLE = "poller";
  /** Options with a TTL that is longer than any wait of the tests. */
  private static final LockOptions OPTIONS = LockOptions.renewed(Duration.ofMinutes(5));

  private final InMemoryServer server = new InMemoryServer();
  private final LockClient clientA = InMemoryLocks.builder(server).build();
  private final LockClient clientB = InMemoryLocks.builder(server).build();
  private final List<String> history = new CopyOnWriteArrayList<>();
  private final Contender a = new Contender("a", clientA, ROLE, OPTIONS, history);
  private final Contender b = new Contender("b", clientB, ROLE, OPTIONS, history);

  @AfterEach
  void close() {
    a.close();
    b.close();
    clientA.close();
    clientB.close();
  }

  private void aLeadsAndBWaits() {
    a.start();
    Await.until("a leads", a::isLeading);
    b.start();
  }

  @Test
  void thereIsOneLeaderAndItStays() throws Exception {
    aLeadsAndBWaits();
    // Time for several heartbeats of both.
    Thread.sleep(10 * Contender.HEART_BEAT_MILLIS);

    assertThat(history).containsExactly("a granted");
    assertThat(a.isLeaderByContext()).isTrue();
    assertThat(b.isLeaderByContext()).isFalse();
    assertThat(clientB.get("leader/" + ROLE).inspect().orElseThrow().token()).isEqualTo(a.token());
  }

  @Test
  void aLeaderThatStopsIsFollowedAtOnce() {
    aLeadsAndBWaits();
    a.stop();
    Await.until("b leads", b::isLeading);

    Await.until("both are told", () -> history.size() == 3);
    assertThat(history).containsExactlyInAnyOrder("a granted", "a revoked", "b granted");
    assertThat(b.token()).isGreaterThan(a.token());
  }

  @Test
  void aLeaderThatYieldsIsFollowed() {
    aLeadsAndBWaits();
    a.giveUp();
    Await.until("b leads", b::isLeading);
    Await.until("a's end is told", () -> history.contains("a revoked"));
    assertThat(history).startsWith("a granted");
  }

  @Test
  void aLeaderWhoseClientIsClosedIsRevokedAndFollowed() {
    aLeadsAndBWaits();
    clientA.close();
    Await.until("b leads", b::isLeading);
    Await.until("a is revoked", () -> !a.isLeading());
    assertThat(a.isLeaderByContext()).isFalse();
    Await.until("all is told", () -> history.size() >= 3);
    assertThat(history).containsExactlyInAnyOrder("a granted", "a revoked", "b granted");
  }

  @Test
  void aLeaderWhoseLockIsTakenAwayIsRevokedByItsNextHeartbeat() {
    a.start();
    Await.until("a leads", a::isLeading);
    assertThat(clientB.get("leader/" + ROLE).forceRelease(a.token())).isTrue();
    Await.until("a is revoked", () -> history.contains("a revoked"));
    Await.until("a leads again", a::isLeading);
    assertThat(history).containsExactly("a granted", "a revoked", "a granted");
  }

  /** Reflection on generic types must cope with a class file that both lines load. */
  @Test
  void anApplicationContextConnectsAndStopsAllOfIt() {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.registerBean("locks", LockClient.class, () -> clientA);
      context.registerBean(
          "lockRegistry",
          HoldfastLockRegistry.class,
          () -> new HoldfastLockRegistry(context.getBean(LockClient.class), "leader/"));
      context.registerBean(
          "initiator",
          LockRegistryLeaderInitiator.class,
          () -> new LockRegistryLeaderInitiator(
              context.getBeanProvider(LockRegistry.class).getObject(), new Recorded()));
      context.refresh();
      Await.until("it leads", () -> history.contains("granted"));
      assertThat(context.getBeanNamesForType(LockRegistry.class)).containsExactly("lockRegistry");
    }
    Await.until("it is revoked", () -> history.contains("revoked"));
  }

  private final class Recorded extends DefaultCandidate {
    Recorded() {
      super("node", ROLE);
    }

    @Override
    public void onGranted(Context context) {
      history.add("granted");
    }

    @Override
    public void onRevoked(Context context) {
      history.add("revoked");
    }
  }
}
