package io.holdfast.lock.tck.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.tck.Fixture;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A long test that kills processes which hold a read-write lock and permits under load: a hundred
 * times, or as often as the system property {@code soak.kills} says. It checks that
 *
 * <ul>
 *   <li>whatever a killed process held can be had again within its crash bound and a little, or a
 *       TTL later if threads of it were next in line (L-9.1, L-13.3), and not before its deadline;
 *   <li>no writer is ever beside a reader or another writer, and no permit is had twice;
 *   <li>tokens rise (L-8.1).
 * </ul>
 *
 * <p>Takes a crash bound and some seconds for each kill. The fixture needs child processes.
 */
@Tag("soak")
public abstract class KilledHoldersSoak {
  private static final int KILLS = Integer.getInteger("soak.kills", 100);
  private static final int FEW_KILLS = 20;

  /** For JUnit. */
  protected KilledHoldersSoak() {}

  /** Opens the fixture, once for each test. */
  protected abstract Fixture openFixture() throws Exception;

  /**
   * Returns the number of names on which processes are killed at the same time. More than one saves
   * time where the crash bound is long.
   */
  protected int lanes() {
    return 1;
  }

  @Test
  @Timeout(value = 2, unit = TimeUnit.HOURS)
  void whatAKilledProcessHeldComesBackInItsTimeAndNotBefore(@TempDir Path folder) throws Exception {
    Tally tally = new Tally();
    ExecutorService threads =
        Executors.newFixedThreadPool(lanes(), task -> new Thread(task, "kill-lane"));
    try (Fixture fixture = openFixture()) {
      List<Callable<Tally>> lanes = new ArrayList<>();
      for (int i = 0; i < lanes(); i++) {
        String name = "soak-" + i;
        Path own = Files.createDirectory(folder.resolve(name));
        int kills = KILLS / lanes() + (i < KILLS % lanes() ? 1 : 0);
        lanes.add(() -> kill(fixture, name, own, kills));
      }
      for (Future<Tally> lane : threads.invokeAll(lanes)) {
        tally.add(lane.get());
      }
    } finally {
      threads.shutdownNow();
    }
    System.out.println("soak: " + getClass().getSimpleName() + ": " + tally);
  }

  private static Tally kill(Fixture fixture, String name, Path folder, int kills) throws Exception {
    try (KillLane lane = new KillLane(fixture, name, folder)) {
      Tally tally = lane.kill(kills);
      if (kills >= FEW_KILLS) {
        assertThat(tally.held()).as("what killed processes held").isEqualTo(lane.rights());
      }
      return tally;
    }
  }
}
