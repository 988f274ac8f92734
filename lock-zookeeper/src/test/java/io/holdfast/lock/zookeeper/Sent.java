package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;

/**
 * The packets that a server was sent on one connection, below the calls that they were sent for.
 *
 * <p>These are the store's clocks, too. They stand still, and so does the store's own thread, from
 * when it first asks them. All waits for an answer ask them for the time left: then a mark is sent
 * on the same connection. So a packet that follows another without a mark between them was sent
 * without waiting for an answer.
 */
final class Sent implements TimeSource, AutoCloseable {
  private static final Path EXPECTED =
      Path.of("src/test/resources/io/holdfast/lock/zookeeper/sent.txt");
  private static final Path SEEN = Path.of("target/sent.txt");
  private static final String LEGEND =
      "What the mutex sends to ZooKeeper. A packet behind a + does not wait for the answer to the one"
          + " above it.\n";

  private static final String WAITS = "/mark-waits";

  private final Thread thread = Thread.currentThread();
  private final long nanos = TimeSource.system().nanos();
  private final long wallMillis = TimeSource.system().wallMillis();
  private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final Packets packets;
  private final CuratorFramework framework;
  private final Map<String, String> names = new LinkedHashMap<>();
  private final StringBuilder all = new StringBuilder(LEGEND);
  private volatile boolean closed;

  Sent(ServerContainer server) throws IOException {
    packets = new Packets(server.host(), server.port(), told::add);
    framework = Frameworks.open(ZooKeeperServer.address(packets.host(), packets.port()));
  }

  /** Returns the framework whose connection is told of. */
  CuratorFramework framework() {
    return framework;
  }

  /** Writes a name in place of a text. */
  void name(String text, String name) {
    names.put(text, name);
  }

  /** Takes a step, and writes down what it sent. */
  <T> T by(String call, Callable<T> step) throws Exception {
    return by(call, "  + ", step);
  }

  /** Does the same for a step that waits for each answer, without asking these clocks. */
  <T> T byWaiting(String call, Callable<T> step) throws Exception {
    return by(call, "  ", step);
  }

  private <T> T by(String call, String unawaited, Callable<T> step) throws Exception {
    List<String> unused = upToNow();
    T result = step.call();
    all.append('\n').append(call).append("\n\n");
    List<String> sent = upToNow();
    if (sent.isEmpty()) {
      all.append("  nothing\n");
    }
    String before = "  ";
    for (String packet : sent) {
      if (packet.contains(WAITS)) {
        before = "  ";
      } else {
        all.append(before).append(named(packet)).append('\n');
        before = unawaited;
      }
    }
    return result;
  }

  /** Returns what was sent since the last time. */
  private List<String> upToNow() throws Exception {
    String mark = "/mark-" + UUID.randomUUID();
    mark(mark);
    List<String> packets = new ArrayList<>();
    while (true) {
      String packet = told.poll(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      if (packet == null) {
        throw new AssertionError("The end of a step was not sent");
      } else if (packet.contains(mark)) {
        return packets;
      }
      packets.add(packet);
    }
  }

  private void mark(String path) throws Exception {
    Frameworks.handle(framework).exists(path, false, (code, p, ctx, stat) -> {}, null);
  }

  private String named(String packet) {
    String named = packet;
    for (Map.Entry<String, String> name : names.entrySet()) {
      named = named.replace(name.getKey(), name.getValue());
    }
    return named
        .replaceAll("\\b[0-9a-f]{32}\\b", "<owner>")
        .replaceAll("\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b", "<id>")
        .replaceAll("hold-[0-9a-f]{16}\\b", "hold-<number>")
        .replaceAll(">-\\d{10}\\b", ">-<place>")
        .replaceAll("\\b\\d{13}\\b", "<time>");
  }

  @Override
  public long nanos() {
    if (Thread.currentThread() == thread) {
      markIfWaiting();
    } else {
      holdBackground();
    }
    return nanos;
  }

  private void markIfWaiting() {
    boolean waits = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
        .walk(frames -> frames.anyMatch(frame -> frame.getDeclaringClass() == Deadline.class
            && frame.getMethodName().equals("awaitUninterruptibly")));
    if (waits) {
      try {
        mark(WAITS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @Override
  public long wallMillis() {
    holdBackground();
    return wallMillis;
  }

  private void holdBackground() {
    while (Thread.currentThread().getName().startsWith("holdfast-") && !closed) {
      LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(100));
    }
  }

  @Override
  public void park(Object blocker, long parkedNanos) {
    TimeSource.system().park(blocker, parkedNanos);
  }

  /** Writes a file of all that was sent, and compares it with the checked-in one. */
  void check() throws IOException {
    Files.createDirectories(SEEN.getParent());
    Files.writeString(SEEN, all);
    assertThat(SEEN)
        .as("If the change is meant, copy lock-zookeeper/%s to lock-zookeeper/%s", SEEN, EXPECTED)
        .hasSameTextualContentAs(EXPECTED);
  }

  @Override
  public void close() throws IOException {
    closed = true;
    framework.close();
    packets.close();
  }
}
