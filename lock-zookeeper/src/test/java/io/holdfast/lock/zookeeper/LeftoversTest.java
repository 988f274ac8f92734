package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many cycles leave nothing behind. */
class LeftoversTest {

  @Test
  void hundredsOfCyclesLeaveNothing() throws Exception {
    cycles(500);
  }

  @Test
  @Tag("soak")
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void aHundredThousandCyclesLeaveNothing() throws Exception {
    cycles(100_000);
  }

  private static void cycles(int count) throws Exception {
    ServerContainer server = ZooKeeperServer.shared();
    String path = "/left-" + System.nanoTime();
    try (CuratorFramework framework = Frameworks.open(ZooKeeperServer.address(server));
        LockClient client =
            ZooKeeperLocks.builder(framework).path(path).clientName(name(path)).build();
        LockClient other =
            ZooKeeperLocks.builder(framework).path(path).clientName(name(path)).build()) {
      client.get("warm").tryLock().orElseThrow().close();
      other.get("warm").tryLock().orElseThrow().close();
      Await.untilAnswered(
          "the first attempts are forgotten",
          () -> entries(client).get("OwnNodes.nodes") + entries(other).get("OwnNodes.nodes") == 0);
      Map<String, Integer> before = entries(client);
      Map<String, Integer> otherBefore = entries(other);
      int threads = Thread.activeCount();
      for (int i = 0; i < count; i++) {
        String name = i % 10 == 0 ? "name-" + i : "one";
        try (Lease lease = client.get(name).tryLock().orElseThrow()) {
          if (i % 50 == 0) {
            assertThat(other.get(name).tryLock()).isEmpty();
            assertThat(other.get(name).tryLock(Duration.ofMillis(1))).isEmpty();
          }
          assertThat(lease.isHeld()).isTrue();
        }
      }
      assertThat(FourLetters.watchesOn(server, path)).as("watches").isZero();
      assertThat(Thread.activeCount()).as("threads").isLessThan(threads + 20);
      // What is looked through twice a second forgets at its next look.
      Await.untilAnswered(
          "no map keeps more than it did: " + before,
          () -> entries(client).equals(before) && entries(other).equals(otherBefore));
      Await.untilAnswered(
          "no lock's node is left", () -> framework.getChildren().forPath(path).isEmpty());
    }
    Await.untilAnswered(
        "no thread of the clients is left",
        () -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().contains(name(path))));
  }

  private static Map<String, Integer> entries(LockClient client) {
    try {
      Map<String, Integer> counts = Entries.reachableFrom(client);
      assertThat(counts)
          .as("what was counted")
          .containsKeys("WaitQueues.exclusive", "OwnNodes.nodes");
      // One for each sixteenth of the session's timeout.
      assertThat(counts.remove("SessionTrust.signs")).as("signs of life").isBetween(1, 20);
      return counts;
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String name(String path) {
    return path.substring(1);
  }
}
