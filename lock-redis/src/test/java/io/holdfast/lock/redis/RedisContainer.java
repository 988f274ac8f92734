package io.holdfast.lock.redis;

import io.holdfast.lock.tck.fault.Ports;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import redis.clients.jedis.HostAndPort;

/**
 * A server in a container of its own, at a port that it keeps when it is killed and started again.
 */
public final class RedisContainer implements AutoCloseable {
  public static final String REDIS = "redis:8.0";
  public static final String VALKEY = "valkey/valkey:8.1";

  /** See {@link ManyServers#DURABLE}. */
  public static final String[] DURABLE = ManyServers.DURABLE.split(" ");

  private static final int PORT = 6379;
  private static final Duration STARTUP_MAX = Duration.ofMinutes(1);

  private final GenericContainer<?> container;
  private final int port;
  private boolean paused;

  private RedisContainer(String image, String... options) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    this.port = Ports.free();
    this.container = new GenericContainer<>(image)
        .withExposedPorts(PORT)
        .withCommand(options)
        .waitingFor(Wait.forLogMessage(".*Ready to accept connections.*", 1)
            .withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(List.of(port + ":" + PORT));
  }

  public static RedisContainer start(String image, String... options) {
    RedisContainer started = new RedisContainer(image, options);
    started.container.start();
    return started;
  }

  public HostAndPort address() {
    return new HostAndPort(container.getHost(), port);
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

  void restart() {
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
  }

  @Override
  public void close() {
    container.close();
  }
}
