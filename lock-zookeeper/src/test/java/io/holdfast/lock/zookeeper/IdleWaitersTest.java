package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.ServerContainer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thousand clients of four JVMs wait for one name, and nothing changes. Run by dev/soak. */
@Tag("soak")
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class IdleWaitersTest {
  private static final int JVMS = 4;
  private static final int WAITERS = 1000;

  /** All of them together, and the holder. */
  private static final long WRITES_PER_SECOND_MAX = 20;

  /** Two quarters of a session's timeout, and a little. */
  private static final long SECONDS = 12;

  @Test
  void aThousandWaitersWriteNothingWhileNothingChanges() throws Exception {
    List<Child> jvms = new ArrayList<>();
    // A server of its own: the sessions of JVMs that are killed end later.
    try (ServerContainer server = ZooKeeperServer.start();
        CuratorFramework framework = Frameworks.open(ZooKeeperServer.address(server));
        LockClient client = ZooKeeperLocks.builder(framework).build()) {
      String name = Claims.freshName();
      try (Lease lease = client.get(name).tryLock().orElseThrow()) {
        for (int i = 0; i < JVMS; i++) {
          jvms.add(new Child(WaitingJvm.class, ZooKeeperServer.address(server)));
        }
        for (Child jvm : jvms) {
          assertThat(jvm.hear()).isEqualTo("ready");
        }
        for (int i = 0; i < WAITERS; i++) {
          jvms.get(i % JVMS).tell("wait " + name + " " + i);
        }
        Await.untilAnswered("all are in line, and watch", () -> {
          try {
            return FourLetters.watchesOn(server, Stores.path(name)) == WAITERS;
          } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
          }
        });
        long writes = FourLetters.writes(server);
        long packets = FourLetters.packets(server);
        Thread.sleep(TimeUnit.SECONDS.toMillis(SECONDS));
        writes = FourLetters.writes(server) - writes;
        packets = FourLetters.packets(server) - packets;
        System.out.printf(
            "%d waiters: %d writes and %d requests in %d s%n", WAITERS, writes, packets, SECONDS);
        assertThat(writes).isLessThanOrEqualTo(WRITES_PER_SECOND_MAX * SECONDS);
        assertThat(lease.isHeld()).isTrue();
      } finally {
        jvms.forEach(Child::close);
      }
    }
  }
}
