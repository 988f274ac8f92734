package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.testcontainers.DockerClientFactory;

/** One short schedule on each store; {@code dev/torture} runs as many as you like. */
@Tag("soak")
@Tag("one-jdk")
class TortureTest {
  private static final int SECONDS = 10;
  private static final long SEED = 1;

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  @ParameterizedTest
  @EnumSource(StoreKind.class)
  @Timeout(180)
  void aShortScheduleFindsNothing(StoreKind store) throws Exception {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    Plan plan = Plan.of(store, SEED, SECONDS);
    try (Servers servers = Servers.start(store)) {
      Outcome outcome = new Schedule(plan, servers, Wrong.NOTHING, 0, folder).run();
      assertThat(outcome.violations()).as(plan.text() + outcome.summary()).isEmpty();
      assertThat(outcome.sections()).isPositive();
    }
  }
}
