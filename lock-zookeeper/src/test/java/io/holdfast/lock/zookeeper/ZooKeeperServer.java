package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.fault.Ports;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.Container;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A ZooKeeper in a container of its own, at a port that it keeps when it is started again. */
final class ZooKeeperServer implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  /** The longest that the server agrees to. */
  static final Duration SESSION_TIMEOUT_MAX = Duration.ofSeconds(60);

  /**
   * Empty containers are looked for every minute otherwise. Nothing waits for the disk, which all
   * servers of a build share: a process that is killed loses nothing by that.
   */
  static final String JVM_FLAGS = "-Dznode.container.checkIntervalMs=1000 -Dzookeeper.forceSync=no";

  private final GenericContainer<?> container;
  private final int port;
  private boolean paused;

  private ZooKeeperServer() {
    assumeDocker();
    this.port = Ports.free();
    this.container = new GenericContainer<>("zookeeper:3.9")
        .withExposedPorts(2181)
        .withEnv("ZOO_TICK_TIME", "1000")
        .withEnv("ZOO_MAX_CLIENT_CNXNS", "0")
        .withEnv("ZOO_CFG_EXTRA", limit(SESSION_TIMEOUT_MAX))
        .withEnv("ZOO_4LW_COMMANDS_WHITELIST", "*")
        .withEnv("JVMFLAGS", JVM_FLAGS)
        .waitingFor(Wait.forListeningPort().withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(List.of(port + ":2181"));
    container.start();
  }

  static ZooKeeperServer start() {
    return new ZooKeeperServer();
  }

  static void assumeDocker() {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
  }

  /** One for all tests of this JVM that break nothing. */
  static ZooKeeperServer shared() {
    return Shared.SERVER;
  }

  private static final class Shared {
    static final ZooKeeperServer SERVER = start();
  }

  String host() {
    return container.getHost();
  }

  int port() {
    return port;
  }

  /**
   * Named several times: a client waits for a connection for its session timeout divided by the
   * number of servers that it knows, so a packet that is lost while a container starts would
   * otherwise cost most of a session; and one that knows of a single server waits a second longer
   * before it comes back.
   */
  String address() {
    return address(host(), port);
  }

  static String address(String host, int port) {
    return String.join(",", Collections.nCopies(6, host + ":" + port));
  }

  void pause() {
    container.getDockerClient().pauseContainerCmd(container.getContainerId()).exec();
    paused = true;
  }

  void resume() {
    if (paused) {
      container
          .getDockerClient()
          .unpauseContainerCmd(container.getContainerId())
          .exec();
      paused = false;
    }
  }

  private static String limit(Duration sessionTimeoutMax) {
    return "maxSessionTimeout=" + sessionTimeoutMax.toMillis();
  }

  /** Starts it anew, with another limit of session timeouts. */
  void restart(Duration sessionTimeoutMax) throws Exception {
    String setting = "s/maxSessionTimeout=.*/" + limit(sessionTimeoutMax) + "/";
    Container.ExecResult edited = container.execInContainer("sed", "-i", setting, "/conf/zoo.cfg");
    if (edited.getExitCode() != 0) {
      throw new IllegalStateException(edited.getStderr());
    }
    kill();
    startAgain();
  }

  void kill() {
    container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
  }

  void startAgain() {
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
  }

  @Override
  public void close() {
    container.close();
  }
}
