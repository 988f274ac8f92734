package io.holdfast.lock.bench.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.LogMessageWaitStrategy;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.containers.wait.strategy.WaitStrategy;

/**
 * A store's server in a container on the host's network, without a proxy in between but that of a
 * {@link Network}.
 */
public abstract class BenchServer implements AutoCloseable {
  static final String HOST = "127.0.0.1";

  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  /** The unit in which Linux counts a process's CPU time. */
  private static final long NANOS_PER_TICK = 10_000_000;

  private final GenericContainer<?> container;
  private final int port;
  private final String url;
  private final String durability;
  private final String counted;

  /**
   * @param ready waits until it is ready; {@link Wait#defaultWaitStrategy} does not wait at all
   * @param url the address for clients, with the port
   * @param durability a description, for readers, of what the server does before it confirms a
   *     write
   * @param counted a description, for readers, of what {@link #commands} counts
   */
  BenchServer(
      GenericContainer<?> container,
      WaitStrategy ready,
      int port,
      String url,
      String durability,
      String counted) {
    this.port = port;
    this.url = url;
    this.durability = durability;
    this.counted = counted;
    this.container =
        container.withNetworkMode("host").waitingFor(ready.withStartupTimeout(STARTUP_MAX));
    container.start();
  }

  public final String url() {
    return url;
  }

  final int port() {
    return port;
  }

  /** Returns the address for clients that connect to another port. */
  final String url(int otherPort) {
    return url.replace(HOST + ":" + port, HOST + ":" + otherPort);
  }

  /** Returns the version that the server reports. */
  public abstract String version() throws Exception;

  /** Returns the number of commands that the server has run since its start. */
  public abstract long commands() throws Exception;

  public final String durability() {
    return durability;
  }

  public final String counted() {
    return counted;
  }

  /** Returns the CPU time of the server's processes, or null if this machine does not report it. */
  public final @Nullable Long cpuNanos() {
    @Nullable Long pid = container.getContainerInfo().getState().getPidLong();
    if (pid == null || !Files.isReadable(Path.of("/proc/" + pid + "/stat"))) {
      return null;
    }
    return processes(pid).mapToLong(BenchServer::ticks).sum() * NANOS_PER_TICK;
  }

  /** Whether one thread does all of its work, so that it can use no more than one core. */
  public boolean hasOneThread() {
    return false;
  }

  /** Returns the server's processes; empty if this machine does not report them. */
  public final List<Long> processes() {
    @Nullable Long pid = container.getContainerInfo().getState().getPidLong();
    return pid == null ? List.of() : processes(pid).toList();
  }

  private static Stream<Long> processes(long pid) {
    return Stream.concat(
        Stream.of(pid),
        ProcessHandle.of(pid).stream().flatMap(ProcessHandle::descendants).map(ProcessHandle::pid));
  }

  /** Returns the CPU ticks of a process and of its children that have ended. */
  private static long ticks(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
      return fields.subList(11, 15).stream().mapToLong(Long::parseLong).sum();
    } catch (IOException e) {
      return 0; // It ended meanwhile; its parent has counted it.
    }
  }

  @Override
  public void close() {
    container.close();
  }

  /** Returns a strategy that waits for a pattern in the log. */
  static WaitStrategy logged(String pattern) {
    return new LogMessageWaitStrategy().withRegEx(pattern);
  }

  public static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
