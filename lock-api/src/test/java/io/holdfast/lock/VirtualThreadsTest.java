package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;

/** Ten thousand virtual threads of one client want a few locks. */
@EnabledForJreRange(min = JRE.JAVA_21, disabledReason = "virtual threads came with JDK 21")
class VirtualThreadsTest {
  private static final int THREADS = 10_000;
  private static final int LOCKS = 4;
  private static final String PINNED = "jdk.VirtualThreadPinned";

  private final int[] turns = new int[LOCKS];
  private final AtomicInteger waiting = new AtomicInteger();

  private final ExecutorService threads = newVirtualThreadPerTaskExecutor();
  private final List<Future<?>> tasks = new ArrayList<>();
  private final Recording recording = new Recording();

  @TempDir
  private Path directory;

  @BeforeEach
  void record() {
    recording.enable(PINNED).withStackTrace().withoutThreshold();
    recording.start();
  }

  @AfterEach
  void end() {
    recording.close();
    threads.shutdownNow();
  }

  @Test
  void allGetTheirTurnAndNoCarrierIsPinned() throws Exception {
    try (LockClient locks = InMemoryLocks.builder().build()) {
      takeTurns(locks);
    }
    assertThat(pinnedByUs()).isEmpty();
  }

  @Test
  void allGetTheirTurnWhenEachAsksTheStore() throws Exception {
    try (LockClient locks = InMemoryLocks.builder().localHandOff(false).build()) {
      takeTurns(locks);
    }
    assertThat(pinnedByUs()).isEmpty();
  }

  @Test
  void allGetTheirTurnAgainstAnotherClient() throws Exception {
    InMemoryServer server = new InMemoryServer();
    try (LockClient locks = InMemoryLocks.builder(server).build();
        LockClient others = InMemoryLocks.builder(server).build()) {
      takeTurns(locks, others);
    }
  }

  @Test
  void thoseWhoWaitInVainGiveUpInTime() throws Exception {
    Duration maxWait = Duration.ofSeconds(1);
    List<Future<Boolean>> acquired = new ArrayList<>();
    try (LockClient locks = InMemoryLocks.builder().build();
        Lease held = locks.get("0").lock()) {
      for (int i = 0; i < THREADS; i++) {
        acquired.add(threads.submit(() -> locks.get("0").tryLock(maxWait).isPresent()));
      }
      long startNanos = System.nanoTime();
      for (Future<Boolean> one : acquired) {
        assertThat(one.get(30, TimeUnit.SECONDS)).isFalse();
      }
      assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
          .isLessThan(maxWait.plusSeconds(10));
      assertThat(held.isHeld()).isTrue();
    }
  }

  /** A thread that waits while it initialises a class cannot leave its carrier. */
  private static final class Pins {
    static {
      LockSupport.parkNanos(1_000_000);
    }

    private Pins() {}

    static void now() {}
  }

  @Test
  void aPinnedCarrierWouldBeSeen() throws Exception {
    threads.submit(Pins::now).get(30, TimeUnit.SECONDS);
    assertThat(pinnedByUs()).isNotEmpty();
  }

  private void takeTurns(LockClient... clients) throws Exception {
    // All locks are held at first, so that everybody waits.
    List<Lease> held = new ArrayList<>();
    for (int lock = 0; lock < LOCKS; lock++) {
      held.add(clients[0].get(Integer.toString(lock)).lock());
    }
    for (int i = 0; i < THREADS; i++) {
      int lock = i % LOCKS;
      LockClient client = clients[i / LOCKS % clients.length];
      tasks.add(threads.submit(() -> {
        waiting.incrementAndGet();
        client.get(Integer.toString(lock)).run(lease -> turns[lock]++);
        return null;
      }));
    }
    while (waiting.get() < THREADS) {
      Thread.sleep(1);
    }
    held.forEach(Lease::close);
    for (Future<?> task : tasks) {
      task.get(30, TimeUnit.SECONDS);
    }
    assertThat(turns).containsOnly(THREADS / LOCKS);
  }

  /** The events in which a virtual thread was pinned with our code on its stack. */
  private List<RecordedEvent> pinnedByUs() throws Exception {
    Path file = directory.resolve("pinned.jfr");
    recording.dump(file);
    assertThat(Files.size(file)).isPositive();
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals(PINNED))
        .filter(event -> event.getStackTrace() != null
            && event.getStackTrace().getFrames().stream()
                .anyMatch(
                    frame -> frame.getMethod().getType().getName().startsWith("io.holdfast.lock.")))
        .toList();
  }

  /** By reflection, since we compile for JDK 17. */
  private static ExecutorService newVirtualThreadPerTaskExecutor() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (IllegalAccessException | InvocationTargetException | NoSuchMethodException e) {
      throw new LinkageError("JDK 21 has virtual threads", e);
    }
  }
}
