package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.GuardedWrites.Step;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Chapter 11: the fixture itself. */
public abstract class KitRules extends RuleTest {

  /** Called by JUnit. */
  protected KitRules() {}

  @Rule("L-11.1")
  @Alone
  @Test
  void theFixtureDeliversWhatItDeclares() {
    List<String> undelivered = new ArrayList<>();
    for (Capability capability : fixture().capabilities()) {
      try {
        deliver(fixture(), capability);
      } catch (Exception | AssertionError e) {
        undelivered.add(capability + ": " + e);
      }
    }
    assertThat(undelivered)
        .as("capabilities that are declared and not delivered")
        .isEmpty();
    for (Capability capability : Capability.values()) {
      if (!fixture().capabilities().contains(capability)) {
        assertThat(fixture().whyNot(capability)).as("the reason to skip").isNotBlank();
      }
    }
  }

  private void deliver(Fixture fixture, Capability capability) throws Exception {
    switch (capability) {
      case TAP -> assertThat(store().inspect(claim(freshName(), ttl()).key())).isEmpty();
      case FAULTS -> deliverFaults();
      case SERVER_PAUSE -> deliverOutage(fixture::pauseServer, fixture::resumeServer);
      case SERVER_RESTART -> deliverOutage(fixture::killServer, fixture::startServer);
      case DURABLE ->
        assertThat(fixture.capabilities())
            .as("what shows that it is durable")
            .contains(Capability.SERVER_RESTART);
      case CHILD_PROCESSES -> {
        Lease lease = take(client().get(freshName(), lasting()));
        ChildProcess child = timedChild();
        assertThat(child.ask(LONG, "lock", lease.name(), "renewed", ttl().toMillis(), 0, 0))
            .as("what a child gets of a lock that this process holds")
            .containsExactly("busy");
        lease.close();
        assertThat(child
                .ask(LONG, "lock", lease.name(), "renewed", ttl().toMillis(), 0, 0)
                .get(0))
            .isEqualTo("granted");
      }
      case GUARDED_WRITES -> {
        GuardedWrites writes = fixture.guardedWrites();
        String log = newLog(writes);
        Lease lease = take(client().get(freshName()));
        AtomicBoolean stepped = new AtomicBoolean();
        writes.append(log, lease, "entry", () -> stepped.set(true));
        assertThat(stepped).as("beforeEffect ran").isTrue();
        assertThat(writes.read(log)).containsExactly("entry");
        lease.close();
      }
      case LEFTOVERS -> assertThat(fixture.leftovers()).isNotEmpty();
      case SEMAPHORES ->
        take(((SemaphoreClient) client()).semaphore(freshName(), 1)).close();
      case READ_WRITE ->
        take(((ReadWriteClient) client()).readWrite(freshName()).read()).close();
      case CALLER_TRANSACTIONS -> {
        AtomicBoolean ran = new AtomicBoolean();
        assertThat(fixture.isRolledBackAround(() -> ran.getAndSet(true))).isTrue();
        assertThat(ran).as("the body ran").isTrue();
      }
    }
  }

  private void deliverOutage(Step begin, Step end) throws Exception {
    LockClient client = timedClient();
    take(client.get(freshName())).close();
    begin.run();
    try {
      assertUnreachable(client);
    } finally {
      end.run();
    }
    takeDespiteFailures(client, freshName(), LONG).close();
  }

  private void deliverFaults() {
    Link link = link();
    LockClient client = client(link, this::timed);
    long before = link.requests();
    take(client.get(freshName())).close();
    assertThat(link.requests() - before).as("requests over the link").isGreaterThanOrEqualTo(2);
    link.refuse();
    assertUnreachable(client);
    link.heal();
    takeDespiteFailures(client, freshName(), LONG).close();
  }

  private static void assertUnreachable(LockClient client) {
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client.get("tck-unreachable").tryLock().isPresent());
  }
}
