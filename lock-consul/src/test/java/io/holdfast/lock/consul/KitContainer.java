package io.holdfast.lock.consul;

import io.holdfast.lock.tck.fault.Ports;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * A Consul server in a container of its own, at a port that it keeps when it is killed and started
 * again.
 */
final class KitContainer implements AutoCloseable {
  static final String IMAGE = "consul:1.8";
  private static final int HTTP_PORT = 8500;
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  private final GenericContainer<?> container;
  private final int port;
  private boolean paused;

  KitContainer() {
    this("");
  }

  /**
   * @param token an ACL token with which sessions can be created
   * @param more more options of the agent
   */
  KitContainer(String token, String... more) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    port = Ports.free();
    String[] command = new String[7 + more.length];
    command[0] = "agent";
    command[1] = "-server";
    command[2] = "-bootstrap-expect=1";
    command[3] = "-client=0.0.0.0";
    command[4] = "-bind=127.0.0.1";
    command[5] = "-hcl=performance { raft_multiplier = 1 }";
    command[6] = "-hcl=limits { http_max_conns_per_client = 2000 }";
    System.arraycopy(more, 0, command, 7, more.length);
    container = new GenericContainer<>(IMAGE)
        .withExposedPorts(HTTP_PORT)
        .withCommand(command)
        .waitingFor(Wait.forLogMessage(".*cluster leadership acquired.*", 1)
            .withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(List.of(port + ":" + HTTP_PORT));
    boolean started = false;
    try {
      container.start();
      new TestHttp(address(), token).awaitSessions();
      started = true;
    } finally {
      if (!started) {
        container.close();
      }
    }
  }

  String host() {
    return container.getHost();
  }

  int port() {
    return port;
  }

  String address() {
    return "http://" + host() + ":" + port;
  }

  /** Runs a command beside the server, and returns its exit code. */
  int run(String... command) throws IOException, InterruptedException {
    return container.execInContainer(command).getExitCode();
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

  void kill() {
    container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
  }

  void start() {
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
  }

  @Override
  public void close() {
    container.close();
  }
}
