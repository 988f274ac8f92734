package io.holdfast.lock.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;
import org.testcontainers.containers.wait.strategy.LogMessageWaitStrategy;
import org.testcontainers.containers.wait.strategy.WaitStrategy;

/** A store's server in a container on the host's network: no proxy stands in between. */
abstract class BenchServer implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  /** Linux counts the CPU of a process in these. */
  private static final long NANOS_PER_TICK = 10_000_000;

  private static final long PAUSE_NANOS = 100_000_000;

  private final GenericContainer<?> container;
  private final String durability;

  /** @param durability what the server does before it confirms a write, for readers */
  BenchServer(GenericContainer<?> container, WaitStrategy ready, String durability) {
    this.durability = durability;
    this.container =
        container.withNetworkMode("host").waitingFor(ready.withStartupTimeout(STARTUP_MAX));
    container.start();
  }

  /** Where clients find it. */
  abstract String url();

  /** What it calls itself. */
  abstract String version() throws Exception;

  /** What {@link #commands} counts, for readers. */
  abstract String counted();

  /** How many commands it has performed since it started. */
  abstract long commands() throws Exception;

  final String durability() {
    return durability;
  }

  /** The CPU time of the server's processes; null where this machine does not tell. */
  final @Nullable Long cpuNanos() {
    @Nullable Long pid = container.getContainerInfo().getState().getPidLong();
    if (pid == null || !Files.isReadable(Path.of("/proc/" + pid + "/stat"))) {
      return null;
    }
    return processes(pid).mapToLong(BenchServer::ticks).sum() * NANOS_PER_TICK;
  }

  /** Whether one thread does all of its work, so that a core of its own is all that it can use. */
  boolean hasOneThread() {
    return false;
  }

  /** The server's processes; none where this machine does not tell. */
  final List<Long> processes() {
    @Nullable Long pid = container.getContainerInfo().getState().getPidLong();
    return pid == null ? List.of() : processes(pid).toList();
  }

  private static Stream<Long> processes(long pid) {
    return Stream.concat(
        Stream.of(pid),
        ProcessHandle.of(pid).stream().flatMap(ProcessHandle::descendants).map(ProcessHandle::pid));
  }

  /** Of a process and its children that have ended. */
  private static long ticks(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
      return fields.subList(11, 15).stream().mapToLong(Long::parseLong).sum();
    } catch (IOException e) {
      return 0; // Ended meanwhile; its parent has counted it.
    }
  }

  @Override
  public void close() {
    container.close();
  }

  /** Ready when that is in its log. */
  static WaitStrategy logged(String pattern) {
    return new LogMessageWaitStrategy().withRegEx(pattern);
  }

  /** Ready when somebody listens at that port. */
  static WaitStrategy listening(int port) {
    return new AbstractWaitStrategy() {
      @Override
      protected void waitUntilReady() {
        long end = System.nanoTime() + startupTimeout.toNanos();
        while (!accepts(port)) {
          if (System.nanoTime() > end) {
            throw new ContainerLaunchException("nobody listens at port " + port);
          }
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      }
    };
  }

  private static boolean accepts(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
