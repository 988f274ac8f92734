package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A rolling restart, round after round: three servers and a client agent leave and return one after
 * the other. A JVM at each of them fights for one lock, and takes others for which mostly nobody
 * waits. A server that leaves ends the sessions that were made through it.
 */
@Tag("soak")
class RollingRestartSoakTest {
  private static final int ROUNDS = 10;

  /** Settings for so many snapshots that a server that returns begins with one. */
  private static final String SNAPSHOTS =
      "raft_snapshot_threshold = 50 raft_snapshot_interval = \"1s\" raft_trailing_logs = 20";

  private final Queue<Turn> turns = new ConcurrentLinkedQueue<>();

  /** A turn, as {@link RollingContender} prints it. */
  private record Turn(int jvm, String name, long token, long first, long last, boolean lost) {}

  /** A JVM at one agent. */
  private final class Jvm implements AutoCloseable {
    private final int number;
    private final Process process;
    private final CountDownLatch done = new CountDownLatch(1);

    Jvm(int number, String address) throws IOException {
      this.number = number;
      process = ChildJvm.of(RollingContender.class, address).start();
      Thread reader = new Thread(this::read, "jvm-" + number);
      reader.setDaemon(true);
      reader.start();
    }

    private void read() {
      try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          String[] words = line.split(" ", -1);
          if (words.length == 5) {
            turns.add(new Turn(
                number,
                words[0],
                Long.parseLong(words[1]),
                Long.parseLong(words[2]),
                Long.parseLong(words[3]),
                words[4].equals("lost")));
          } else {
            assertThat(line).isEqualTo("done");
            done.countDown();
          }
        }
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    void stop() throws Exception {
      process.outputWriter(StandardCharsets.UTF_8).append("stop\n").flush();
      assertThat(done.await(3, TimeUnit.MINUTES)).as("JVM " + number + " ends").isTrue();
    }

    long turnsOf(String name) {
      return turns.stream()
          .filter(turn -> turn.jvm() == number && turn.name().equals(name))
          .count();
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }

  @Test
  void nobodyHoldsWhileAnotherBelievesAndNobodyIsStuck() throws Exception {
    List<Jvm> jvms = new ArrayList<>();
    try (ConsulCluster cluster = new ConsulCluster(SNAPSHOTS)) {
      for (int agent = 0; agent <= ConsulCluster.CLIENT; agent++) {
        jvms.add(new Jvm(agent, cluster.address(agent)));
      }
      awaitTurns(jvms);
      for (int round = 0; round < ROUNDS; round++) {
        for (int agent = 0; agent <= ConsulCluster.CLIENT; agent++) {
          cluster.stop(agent);
          cluster.start(agent);
          cluster.awaitHealth();
          cluster.awaitSessionsAt(agent);
          awaitTurns(jvms);
        }
        System.out.printf("rolling restart: round %d, %s%n", round + 1, judge());
      }
      for (Jvm jvm : jvms) {
        jvm.stop();
      }
      System.out.printf("rolling restart: at the end, %s%n", judge());
    } finally {
      jvms.forEach(Jvm::close);
    }
  }

  /** Waits until each JVM had the contended lock, and each of the other locks had a holder. */
  private void awaitTurns(List<Jvm> jvms) {
    for (Jvm jvm : jvms) {
      long before = jvm.turnsOf(RollingContender.CONTENDED);
      Await.until(
          "JVM " + jvm.number + " has a turn",
          () -> jvm.turnsOf(RollingContender.CONTENDED) > before);
    }
    for (int i = 0; i < RollingContender.QUIET_NAMES; i++) {
      String name = "quiet-" + i;
      long before = turnsOf(name);
      Await.until(name + " is taken", () -> turnsOf(name) > before);
    }
  }

  private long turnsOf(String name) {
    return turns.stream().filter(turn -> turn.name().equals(name)).count();
  }

  private String judge() {
    Map<String, List<Turn>> byName = turns.stream()
        .filter(turn -> turn.first() != 0)
        .sorted(Comparator.comparingLong(Turn::first))
        .collect(Collectors.groupingBy(Turn::name));
    StringBuilder text = new StringBuilder();
    byName.forEach((name, inOrder) -> {
      long longestNanos = 0;
      for (int i = 1; i < inOrder.size(); i++) {
        Turn before = inOrder.get(i - 1);
        Turn after = inOrder.get(i);
        assertThat(after.first())
            .as(after + " after " + before)
            .isGreaterThanOrEqualTo(before.last());
        assertThat(after.token()).as(after + " after " + before).isGreaterThan(before.token());
        longestNanos = Math.max(longestNanos, after.first() - before.last());
      }
      text.append(String.format(
          "%s: %d turns, %d lost, longest pause %d ms; ",
          name,
          inOrder.size(),
          inOrder.stream().filter(Turn::lost).count(),
          TimeUnit.NANOSECONDS.toMillis(longestNanos)));
      assertThat(longestNanos).isLessThan(4 * RollingContender.TTL.toNanos());
    });
    return text.toString();
  }
}
