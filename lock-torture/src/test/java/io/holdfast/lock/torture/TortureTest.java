package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.testcontainers.DockerClientFactory;

/**
 * One short schedule on each store, one after the other: beside others that start, a server takes
 * longer than the second within which a worker wants an answer. {@code dev/torture} runs as many as
 * you like.
 */
@Tag("nightly")
class TortureTest {
  private static final int SECONDS = 6;
  private static final long SEED = Plan.SERVER_CLOCKS_SEED + 1;

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  static void assumeServers() {
    boolean isCi = "true".equals(System.getenv("CI"));
    Assumptions.assumeTrue(
        isCi || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    Assumptions.assumeTrue(isCi || hasCompiler(), "There is no C compiler: cc");
  }

  private static boolean hasCompiler() {
    return Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "cc")));
  }

  @ParameterizedTest
  @EnumSource(StoreKind.class)
  @Timeout(240)
  void aShortScheduleFindsNothing(StoreKind store) throws Exception {
    assumeServers();
    Plan plan = Plan.of(store, SEED, SECONDS);
    try (Servers servers = Servers.start(store)) {
      Outcome outcome = new Schedule(plan, servers, Wrong.NOTHING, 0, folder).run();
      assertThat(outcome.violations()).as(plan.text() + outcome.summary()).isEmpty();
      assertThat(outcome.sections()).isPositive();
    }
  }
}
