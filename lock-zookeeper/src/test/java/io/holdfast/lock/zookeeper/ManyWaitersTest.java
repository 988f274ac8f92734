package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two hundred waiters from four JVMs: one is woken at a time, in the order in which they came. */
@Tag("nightly")
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ManyWaitersTest {
  private static final int JVMS = 4;
  private static final int WAITERS = 200;

  /** More than a quarter of a session's timeout. */
  private static final long IDLE_MILLIS = 6_000;

  private final List<Child> jvms = new ArrayList<>();
  private ServerContainer server;
  private CuratorFramework framework;

  @BeforeEach
  void start() throws IOException {
    server = ZooKeeperServer.shared();
    framework = Frameworks.open(ZooKeeperServer.address(server));
    for (int i = 0; i < JVMS; i++) {
      jvms.add(new Child(WaitingJvm.class, ZooKeeperServer.address(server)));
    }
    for (Child jvm : jvms) {
      assertThat(jvm.hear()).isEqualTo("ready");
    }
  }

  @AfterEach
  void stop() {
    jvms.forEach(Child::close);
    framework.close();
  }

  @Test
  void eachReleaseWakesTheOneThatCameNextAndNobodyElse() throws Exception {
    String name = Claims.freshName();
    long token;
    try (LockClient client = ZooKeeperLocks.builder(framework).build()) {
      Lease first = client.get(name).tryLock().orElseThrow();
      for (int i = 0; i < WAITERS; i++) {
        jvms.get(i % JVMS).tell("wait " + name + " " + i);
        int inLine = i + 2;
        Await.untilAnswered("waiter " + i + " is in line", () -> nodes(name) == inLine);
      }
      // The last may still be about to watch the one before it.
      Await.untilAnswered("each watches", () -> watches(name) == WAITERS);
      long written = FourLetters.writes(server);
      Thread.sleep(IDLE_MILLIS);
      // Renewals of the one who holds it, for the most part.
      assertThat(FourLetters.writes(server) - written)
          .as("writes while nothing changes")
          .isLessThan(WAITERS / 2);
      token = first.token();
      long fired = watchesFired();
      first.close();
      for (int i = 0; i < WAITERS; i++) {
        Child jvm = jvms.get(i % JVMS);
        String[] heard = jvm.hear().split(" ", -1);
        assertThat(List.of(heard).subList(0, 2)).containsExactly("granted", Integer.toString(i));
        assertThat(Long.parseLong(heard[2])).isGreaterThan(token);
        token = Long.parseLong(heard[2]);
        long firedNow = watchesFired();
        assertThat(firedNow - fired).as("watch events of one release").isEqualTo(1);
        fired = firedNow;
        assertThat(watches(name)).isEqualTo(WAITERS - 1 - i);
        jvm.tell("release " + i);
        assertThat(jvm.hear()).isEqualTo("released " + i);
      }
      assertThat(watchesFired()).as("watch events of the last release").isEqualTo(fired);
      assertThat(watches(name)).isZero();
    }
  }

  @Test
  void nobodyStarvesWhereManyThreadsShareAClientPerJvm() throws Exception {
    String name = Claims.freshName();
    long fired = watchesFired();
    for (Child jvm : jvms) {
      jvm.tell("crowd " + name + " " + WAITERS / JVMS + " 3");
    }
    long grants = 0;
    for (Child jvm : jvms) {
      String[] heard = jvm.hear().split(" ", -1);
      assertThat(heard[0]).isEqualTo("done");
      grants += Long.parseLong(heard[1]);
    }
    assertThat(watchesFired() - fired).as("watch events").isLessThanOrEqualTo(grants);
    assertThat(watches(name)).isZero();
  }

  private long nodes(String name) {
    try {
      return framework.getChildren().forPath(Stores.path(name)).size();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private long watches(String name) {
    try {
      return FourLetters.watchesOn(server, Stores.path(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The number of watchers that the server has told of anything, by its own count. */
  private long watchesFired() throws IOException {
    return FourLetters.ask(server.host(), server.port(), "mntr")
        .lines()
        .filter(line -> line.matches("zk_sum_node_\\w+_watch_count\\t.*"))
        .mapToLong(line -> (long) Double.parseDouble(line.split("\t", -1)[1]))
        .sum();
  }
}
