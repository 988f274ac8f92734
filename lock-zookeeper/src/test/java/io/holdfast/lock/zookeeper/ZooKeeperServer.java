package io.holdfast.lock.zookeeper;

import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.Collections;

/** ZooKeeper servers in containers. */
final class ZooKeeperServer {
  /** The longest that the server agrees to. */
  static final Duration SESSION_TIMEOUT_MAX = Duration.ofSeconds(60);

  private ZooKeeperServer() {}

  static ServerContainer start() {
    return ServerContainer.start(Image.ZOOKEEPER.with("ZOO_CFG_EXTRA", limit(SESSION_TIMEOUT_MAX)));
  }

  /** One for all tests of this JVM that break nothing. */
  static ServerContainer shared() {
    ServerContainer.assumeDocker();
    return Shared.SERVER;
  }

  private static final class Shared {
    static final ServerContainer SERVER = start();
  }

  static String address(ServerContainer server) {
    return address(server.host(), server.port());
  }

  /**
   * Named several times: a client waits for a connection for its session timeout divided by the
   * number of servers that it knows, so a packet that is lost while a container starts would
   * otherwise cost most of a session; and one that knows of a single server waits a second longer
   * before it comes back.
   */
  static String address(String host, int port) {
    return String.join(",", Collections.nCopies(6, host + ":" + port));
  }

  static String limit(Duration sessionTimeoutMax) {
    return "maxSessionTimeout=" + sessionTimeoutMax.toMillis();
  }

  /** Starts one anew, with another limit of session timeouts. */
  static void restart(ServerContainer server, Duration sessionTimeoutMax) {
    String setting = "s/maxSessionTimeout=.*/" + limit(sessionTimeoutMax) + "/";
    String unused = server.run("sed", "-i", setting, "/conf/zoo.cfg");
    server.kill();
    server.startAgain();
  }
}
