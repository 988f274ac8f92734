package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Three servers, one of which agrees to shorter sessions than the others, are started anew one
 * after the other, ten times over, while four JVMs contend for a lock. Run by dev/soak.
 */
@Tag("soak")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class RollingRestartSoakTest {
  private static final int JVMS = 4;
  private static final int ROUNDS = Integer.getInteger("soak.rounds", 10);
  private static final int TURNS_AFTER = 5;
  private static final Duration SESSION_TIMEOUT = Duration.ofSeconds(40);

  @TempDir
  Path folder;

  private record Turn(long beganNanos, long believedNanos, long token) {}

  /** @param least no less than half of the other, so that no lease is lost */
  @ParameterizedTest(name = "sessions of at most {0} s, and at one server {1} s")
  @CsvSource({"60,24", "30,16"})
  void noTwoHoldersNoWaiterStuckAndNoLeaseLost(long most, long least) throws Exception {
    List<Duration> limits =
        List.of(Duration.ofSeconds(most), Duration.ofSeconds(least), Duration.ofSeconds(most));
    List<Child> jvms = new ArrayList<>();
    try (Ensemble ensemble = new Ensemble(limits)) {
      String name = Claims.freshName();
      for (int i = 0; i < JVMS; i++) {
        jvms.add(new Child(
            ContendingJvm.class,
            ensemble.address(),
            SESSION_TIMEOUT.toString(),
            name,
            name + "-of-" + i,
            file(i).toString()));
      }
      for (Child jvm : jvms) {
        assertThat(jvm.hear()).isEqualTo("ready");
      }
      for (int round = 1; round <= ROUNDS; round++) {
        for (int server = 0; server < limits.size(); server++) {
          ensemble.restart(server);
          for (Child jvm : jvms) {
            awaitTurns(jvm);
          }
        }
        System.out.printf("rolling restart %d of %d is over%n", round, ROUNDS);
      }
      for (Child jvm : jvms) {
        jvm.tell("stop");
        String[] heard = jvm.hear().split(" ", -1);
        System.out.printf("calls that failed: %s, leases lost: %s%n", heard[0], heard[1]);
        assertThat(heard[1]).as("leases that were lost").isEqualTo("0");
      }
    } finally {
      jvms.forEach(Child::close);
    }
    judge();
  }

  private Path file(int jvm) {
    return folder.resolve("turns-" + jvm);
  }

  private static void awaitTurns(Child jvm) throws IOException {
    long before = turns(jvm);
    Await.untilAnswered("it has had its turns", () -> {
      try {
        return turns(jvm) >= before + TURNS_AFTER;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    });
  }

  private static long turns(Child jvm) throws IOException {
    jvm.tell("turns");
    return Long.parseLong(jvm.hear());
  }

  /** All JVMs read one monotonic clock, the machine's. */
  private void judge() throws IOException {
    List<Turn> turns = new ArrayList<>();
    for (int jvm = 0; jvm < JVMS; jvm++) {
      for (String line : Files.readAllLines(file(jvm))) {
        String[] words = line.split(" ", -1);
        turns.add(
            new Turn(Long.parseLong(words[0]), Long.parseLong(words[1]), Long.parseLong(words[2])));
      }
    }
    turns.sort(Comparator.comparingLong(Turn::beganNanos));
    long waitNanosMax = 0;
    for (int i = 1; i < turns.size(); i++) {
      Turn before = turns.get(i - 1);
      Turn after = turns.get(i);
      assertThat(after.token()).as("tokens rise").isGreaterThan(before.token());
      assertThat(after.beganNanos() - before.believedNanos())
          .as("nanoseconds from the end of %s to the beginning of %s", before, after)
          .isPositive();
      waitNanosMax = Math.max(waitNanosMax, after.beganNanos() - before.believedNanos());
    }
    System.out.printf(
        "%d turns; the lock was nobody's for %d ms at most%n",
        turns.size(), Duration.ofNanos(waitNanosMax).toMillis());
  }
}
