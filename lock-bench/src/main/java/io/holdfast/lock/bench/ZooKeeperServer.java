package io.holdfast.lock.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.GenericContainer;

/** One ZooKeeper with its defaults: a transaction is on disk before it is confirmed. */
final class ZooKeeperServer extends BenchServer {
  private static final String HOST = "127.0.0.1";
  private static final int ATTEMPTS_MAX = 300;
  private static final long PAUSE_NANOS = 100_000_000;

  private final int port;

  ZooKeeperServer() {
    this(freePort());
  }

  @SuppressWarnings("resource") // Closed by the superclass.
  private ZooKeeperServer(int port) {
    super(
        new GenericContainer<>("zookeeper:3.9")
            .withEnv(Map.of(
                // The way to another port that all images know: a list of one server.
                "ZOO_SERVERS",
                "server.1=localhost:" + freePort() + ":" + freePort() + ";" + port,
                "ZOO_MAX_CLIENT_CNXNS",
                "0",
                "ZOO_ADMINSERVER_ENABLED",
                "false",
                "ZOO_4LW_COMMANDS_WHITELIST",
                "*")),
        listening(port),
        "each transaction on disk (forceSync=yes: the default), one server");
    this.port = port;
    awaitService();
  }

  /** It listens a moment before it serves. */
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
  String url() {
    return HOST + ":" + port;
  }

  @Override
  String version() throws IOException {
    return "ZooKeeper " + figure("zk_version\\s+([^-,\\s]+)");
  }

  @Override
  String counted() {
    return "packets received";
  }

  @Override
  long commands() throws IOException {
    return Long.parseLong(figure("zk_packets_received\\s+(\\d+)"));
  }

  private String figure(String pattern) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
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
