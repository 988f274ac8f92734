package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsTest {
  @TempDir
  Path folder;

  private static Outcome outcome(long seed, int seconds, Story story) {
    Evidence evidence = story.evidence();
    return new Outcome(
        new Plan(StoreKind.REDIS, seed, seconds, List.of()),
        new Evidence(
            StoreKind.REDIS,
            0,
            evidence.attempts(),
            Map.of(),
            evidence.faults(),
            List.of(),
            List.of(),
            List.of()),
        story.judged(),
        1_500_000_000L);
  }

  private static Story quiet() {
    return Story.on(StoreKind.REDIS)
        .told("worker 0, reading, asked 1, granted 100 at 2")
        .broke(Fault.Kind.OUTAGE.of(0), 3, 4);
  }

  @Test
  void thePageAddsUpWhatWasKept() throws Exception {
    Results.append(folder, outcome(1, 30, quiet()));
    Results.append(folder, outcome(2, 30, quiet()));
    Results.append(folder, outcome(7, 300, quiet().told("worker 1, asked 5, undocumented at 6")));
    Results.appendCaught(folder, StoreKind.REDIS, Wrong.FREE_BY_NAME, 2);
    assertThat(Results.page(folder))
        .contains("| redis | 3 x 30, 300 s | 3 | 3 | 3 | 0 | 0 | 1 | 0 | 1.5 s |")
        .contains("| free-by-name | 1 | 2 |");
  }
}
