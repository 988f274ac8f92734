package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Several JVMs with several threads each fight for one name: no error reaches a caller, turns never
 * overlap, tokens rise strictly in the order of the turns, and nobody starves. Run by dev/soak.
 */
@Tag("soak")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class ContentionSoakTest {
  private static final int JVMS = 4;
  private static final int THREADS = 8;
  private static final long SECONDS = Long.getLong("soak.seconds", 60);

  @TempDir
  Path folder;

  private record Turn(int jvm, long in, long out, long token) {}

  @Test
  void manyJvmsShareOneNameOnMySql() throws Exception {
    contend(KitContainer.mySql());
  }

  @Test
  void manyJvmsShareOneNameOnMariaDb() throws Exception {
    contend(KitContainer.mariaDb());
  }

  @Test
  void manyJvmsShareOneNameOnPostgres() throws Exception {
    contend(KitContainer.postgres());
  }

  private void contend(KitServer server) throws Exception {
    List<Process> children = new ArrayList<>();
    try (server) {
      for (int jvm = 0; jvm < JVMS; jvm++) {
        children.add(start(server, jvm));
      }
      for (Process child : children) {
        assertThat(new BufferedReader(
                    new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))
                .readLine())
            .isEqualTo("ready");
      }
      for (Process child : children) {
        child.getOutputStream().write('\n');
        child.getOutputStream().flush();
      }
      for (Process child : children) {
        assertThat(child.waitFor(SECONDS + 120, TimeUnit.SECONDS))
            .as("it ended")
            .isTrue();
        assertThat(child.exitValue())
            .as("its exit, 0 if no caller saw an error")
            .isZero();
      }
    } finally {
      children.forEach(Process::destroyForcibly);
    }
    judge(server);
  }

  private Process start(KitServer server, int jvm) throws IOException {
    return new ProcessBuilder(
            System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            Contender.class.getName(),
            server.url(),
            server.user(),
            server.password(),
            "soak",
            Integer.toString(THREADS),
            Long.toString(SECONDS),
            file(jvm).toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private Path file(int jvm) {
    return folder.resolve("turns-" + jvm);
  }

  private void judge(KitServer server) throws IOException {
    List<Turn> turns = new ArrayList<>();
    long[] perJvm = new long[JVMS];
    for (int jvm = 0; jvm < JVMS; jvm++) {
      long count = Files.size(file(jvm)) / (3 * Long.BYTES);
      perJvm[jvm] = count;
      try (DataInputStream in =
          new DataInputStream(new BufferedInputStream(Files.newInputStream(file(jvm))))) {
        for (long i = 0; i < count; i++) {
          turns.add(new Turn(jvm, in.readLong(), in.readLong(), in.readLong()));
        }
      }
    }
    turns.sort(Comparator.comparingLong(Turn::in));
    for (int i = 1; i < turns.size(); i++) {
      Turn before = turns.get(i - 1);
      Turn after = turns.get(i);
      assertThat(after.in())
          .as("a turn began after the one before ended")
          .isGreaterThan(before.out());
      assertThat(after.token()).as("tokens rise").isGreaterThan(before.token());
    }
    long fairShare = turns.size() / JVMS;
    System.out.printf(
        "soak: %s: %d turns in %d s, per JVM %s%n",
        server.url(), turns.size(), SECONDS, Arrays.toString(perJvm));
    for (long count : perJvm) {
      assertThat(count)
          .as("turns of a JVM, of %s", Arrays.toString(perJvm))
          .isGreaterThan(fairShare / 2);
    }
  }
}
