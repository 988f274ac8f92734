package io.holdfast.lock.tck.fault;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for servers that are stopped and started again in the middle of a test. */
public final class Ports {
  /** The first port; below the range that operating systems use for outgoing connections. */
  private static final int FIRST = 20_000;

  private static final int END = 32_000;

  /**
   * The number of ports in one JVM's part of the range, so that JVMs that search at the same time
   * rarely collide.
   */
  private static final int PART = 1_000;

  private static final int TRIES_MAX = 2_000;

  private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

  private Ports() {}

  /**
   * Finds a port on which nothing listens. No other call in this JVM returns it. It is not in the
   * range for outgoing connections: one of those could occupy it when the server comes back, or
   * connect to itself while the server is down.
   *
   * @throws UncheckedIOException no port was free
   */
  public static int free() {
    int first = FIRST + (int) (ProcessHandle.current().pid() % ((END - FIRST) / PART)) * PART;
    IOException taken =
        new IOException("No port between " + first + " and " + (first + PART) + " is free");
    for (int i = 0; i < TRIES_MAX; i++) {
      int port = ThreadLocalRandom.current().nextInt(first, first + PART);
      if (GIVEN.add(port)) {
        try (ServerSocket socket = new ServerSocket(port)) {
          return socket.getLocalPort();
        } catch (IOException e) {
          taken.addSuppressed(e);
        }
      }
    }
    throw new UncheckedIOException(taken);
  }
}
