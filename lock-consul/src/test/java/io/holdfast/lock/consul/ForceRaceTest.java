package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A forced release of a lock whose holder does not know yet that it has it. */
class ForceRaceTest {
  private static ServerContainer server;

  private final String name = "force-" + UUID.randomUUID();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final Script.Gate gate = new Script.Gate();
  private OpenStore late;
  private OpenStore other;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() throws Exception {
    late = new OpenStore(ConsulServer.address(server));
    other = new OpenStore(ConsulServer.address(server));
    // Makes the session, so that the next transaction is the acquire.
    late.store.release(late.acquire("warm-" + name), Duration.ZERO);
  }

  @AfterEach
  void close() {
    gate.open();
    late.close();
    other.close();
    thread.shutdownNow();
  }

  /**
   * Releases the lock by force, and waits until its holder's client has checked all that it holds.
   */
  private void force() throws Exception {
    Await.until("the session is watched", () -> late.watches() == 1);
    StoredHolder holder = other.store.inspect(OpenStore.key(name)).orElseThrow();
    assertThat(other.store.forceRelease(OpenStore.key(name), holder.number())).isTrue();
    late.awaitNewWatchAfter(1);
  }

  @Test
  void anAcquireWhoseAnswerComesAfterTheLookGrantsNothing() throws Exception {
    late.script.next(1, Script.TRANSACTION, gate::answerLater);
    Future<Optional<Grant>> turn =
        thread.submit(() -> late.store.tryAcquire(OpenStore.claim(name)));
    Await.until("the lock is taken", gate::isReached);
    force();
    ConsulGrant next = other.acquire(name);
    gate.open();
    assertThat(turn.get(60, TimeUnit.SECONDS)).isEmpty();
    assertThat(other.store.verify(next)).isPresent();
  }

  @Test
  void aWaiterThatHearsOfItsTurnAfterTheLookIsNotGranted() throws Exception {
    late.script.next(1, Script::isOnAttempt, gate::answerLater);
    ConsulGrant held = other.acquire(name);
    Ticket ticket = late.queue(name);
    other.store.release(held, Duration.ZERO);
    Await.until("the waiter is about to hear", gate::isReached);
    force();
    ConsulGrant next = other.acquire(name);
    gate.open();
    Await.until("the waiter hears", () -> late.wakeUps.get() > 0);
    assertThat(ticket.poll()).isInstanceOf(Ticket.Gone.class);
    assertThat(other.store.verify(next)).isPresent();
  }

  @Test
  void aLookThatMissesNothingEndsOnlyTheLockThatWasTaken() throws Exception {
    ConsulGrant taken = late.acquire(name);
    ConsulGrant kept = late.acquire("kept-" + name);
    force();
    assertThat(late.losses).hasSize(1);
    assertThat(late.store.verify(taken)).isEmpty();
    assertThat(late.store.verify(kept)).isPresent();
  }
}
