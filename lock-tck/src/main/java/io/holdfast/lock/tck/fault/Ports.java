package io.holdfast.lock.tck.fault;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for servers that are ended and started again in the middle of a test. */
public final class Ports {
  /** Below those that systems give to outgoing connections. */
  private static final int FIRST = 20_000;

  private static final int END = 32_000;

  /** Several JVMs may look at once: each has a part of its own, or few have the same. */
  private static final int PART = 1_000;

  private static final int TRIES_MAX = 2_000;

  private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

  private Ports() {}

  /**
   * Finds a port on which nothing listens. No system gives it to an outgoing connection, which
   * could have it when the server comes back, or meet itself there while the server is away. No
   * other call of this JVM returns it.
   *
   * @throws UncheckedIOException none was free
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
