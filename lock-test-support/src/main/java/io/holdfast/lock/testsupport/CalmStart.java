package io.holdfast.lock.testsupport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Delays the start of a test while far more threads want to run than can, unless no other test of
 * this JVM runs. Many tests run at a time, in several JVMs, since most of them wait for a TTL to
 * end; when most of them work at once, servers answer too late. JUnit finds this class by itself.
 * It does nothing where the system doesn't tell how busy it is (all but Linux).
 */
public final class CalmStart implements BeforeEachCallback {
  private static final Path LOAD = Path.of("/proc/loadavg");
  private static final Path PROCESSORS = Path.of("/proc/stat");
  private static final int RUNNABLE_PER_PROCESSOR_MAX = 3;

  /** The most of all delays together: half of what a JVM may take, however busy others are. */
  private static final Duration DELAYS_MAX = Duration.ofMinutes(15);

  private static final Duration PAUSE = Duration.ofMillis(100);
  private static final AtomicInteger running = new AtomicInteger();
  private static final AtomicInteger pauses = new AtomicInteger();

  /** Called by JUnit. */
  public CalmStart() {}

  @Override
  public void beforeEach(ExtensionContext context) throws IOException {
    long pausesMax = DELAYS_MAX.dividedBy(PAUSE);
    while (running.get() > 0 && isBusy() && pauses.getAndIncrement() < pausesMax) {
      Await.pause(PAUSE);
    }
    running.incrementAndGet();
    AutoCloseable end = running::decrementAndGet;
    context.getStore(ExtensionContext.Namespace.create(CalmStart.class)).put("end", end);
  }

  /** Both numbers are the whole machine's, of which a JVM in a container may use a part. */
  private static boolean isBusy() throws IOException {
    if (!Files.exists(LOAD)) {
      return false;
    }
    // "0.20 0.18 0.12 3/80 11206": three averages, then the threads that want to run, of all.
    String threads = Files.readString(LOAD).split(" ", -1)[3];
    int runnable = Integer.parseInt(threads.substring(0, threads.indexOf('/')));
    try (Stream<String> lines = Files.lines(PROCESSORS)) {
      // "cpu0 4705 150 1120": one line a processor, after their sum, which begins with "cpu ".
      long processors = lines.filter(line -> line.matches("cpu\\d.*")).count();
      return runnable > RUNNABLE_PER_PROCESSOR_MAX * processors;
    }
  }
}
