package io.holdfast.lock.bench.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A single ZooKeeper server with its defaults: a transaction is on disk before it is confirmed. */
public final class ZooKeeperServer extends BenchServer {
  private static final int ATTEMPTS_MAX = 1_200;
  private static final long PAUSE_NANOS = 100_000_000;

  @SuppressWarnings("resource") // Closed by the superclass.
  public ZooKeeperServer(int port) {
    super(
        new GenericContainer<>("zookeeper:3.9")
            .withEnv(Map.of(
                // The one way to set the port that works with all images: a list with one server.
                "ZOO_SERVERS",
                "server.1=localhost:" + freePort() + ":" + freePort() + ";" + port,
                "ZOO_MAX_CLIENT_CNXNS",
                "0",
                "ZOO_ADMINSERVER_ENABLED",
                "false",
                "ZOO_4LW_COMMANDS_WHITELIST",
                "*")),
        Wait.defaultWaitStrategy(),
        port,
        HOST + ":" + port,
        "each transaction on disk (forceSync=yes: the default), one server",
        "packets received");
    awaitService();
  }

  /** Waits until the server answers, which is a moment after it listens. */
  private void awaitService() {
    for (int attempt = 1; ; attempt++) {
      try {
        version();
        return;
      } catch (IOException e) {
        if (attempt == ATTEMPTS_MAX) {
          throw new IllegalStateException("ZooKeeper does not serve", e);
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  @Override
  public String version() throws IOException {
    return "ZooKeeper " + figure("zk_version\\s+([^-,\\s]+)");
  }

  @Override
  public long commands() throws IOException {
    return Long.parseLong(figure("zk_packets_received\\s+(\\d+)"));
  }

  private String figure(String pattern) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      socket.getOutputStream().write("mntr".getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      Matcher matcher = Pattern.compile(pattern).matcher(answer);
      if (!matcher.find()) {
        throw new IOException("ZooKeeper says nothing of " + pattern + ": " + answer);
      }
      return matcher.group(1);
    }
  }
}
