package io.holdfast.lock.testsupport;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Ports;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.containers.wait.strategy.WaitStrategy;

/**
 * A server in a container of its own, at a port that it keeps when it is killed and started again.
 * Its data is in memory where this machine has a folder for that, so that no test waits for a disk
 * that all of them share; a server that is killed finds it again.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class ServerContainer implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);
  private static final int STOP_SECONDS_MAX = 10;

  private final GenericContainer<?> container;
  private final MemoryFolder memory = new MemoryFolder();
  private final int port;

  private ServerContainer(Image image, Consumer<GenericContainer<?>> settings, String... options) {
    assumeDocker();
    this.port = Ports.free();
    this.container = new GenericContainer<>(image.name())
        .withExposedPorts(image.port())
        .withEnv(image.environment())
        .withCommand(
            Stream.concat(image.command().stream(), Stream.of(options)).toArray(String[]::new))
        .waitingFor(ready(image).withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(List.of(port + ":" + image.port()));
    memory.mount(container, image.data());
    settings.accept(container);
  }

  private static WaitStrategy ready(Image image) {
    return image.readyLog() == null
        ? Wait.forListeningPort()
        : Wait.forLogMessage(image.readyLog(), image.readyTimes());
  }

  /**
   * Starts a server with these options at the end of its command; without a Docker daemon, and not
   * in CI, skips the test.
   */
  public static ServerContainer start(Image image, String... options) {
    return start(image, container -> {}, options);
  }

  /** Starts a server with more settings of its container. */
  public static ServerContainer start(
      Image image, Consumer<GenericContainer<?>> settings, String... options) {
    ServerContainer server = new ServerContainer(image, settings, options);
    boolean started = false;
    try {
      server.container.start();
      started = true;
    } finally {
      if (!started) {
        server.close();
      }
    }
    return server;
  }

  /** Skips the test if there is no Docker daemon, but not in CI. */
  public static void assumeDocker() {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
  }

  public String host() {
    return container.getHost();
  }

  public int port() {
    return port;
  }

  public String address() {
    return host() + ":" + port;
  }

  /** Opens a proxy in front of the server. */
  public FaultProxy openProxy() {
    return FaultProxy.open(host(), port);
  }

  /** Returns the host by which other containers know it. */
  public String addressInside() {
    return container.getContainerInfo().getNetworkSettings().getNetworks().values().stream()
        .map(network -> network.getIpAddress())
        .findFirst()
        .orElseThrow();
  }

  /** Runs a command inside, and returns its output; an {@link AssertionError} if it fails. */
  public String run(String... command) {
    try {
      ExecResult result = container.execInContainer(command);
      if (result.getExitCode() != 0) {
        throw new AssertionError(String.join(" ", command) + ": " + result);
      }
      return result.getStdout();
    } catch (IOException e) {
      throw new AssertionError(String.join(" ", command), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(String.join(" ", command), e);
    }
  }

  /**
   * Stops its processes, as a suspended machine would. Tried until it succeeds: the kernel can fail
   * to stop a process that waits for the disk ("unable to freeze").
   */
  public void pause() {
    Await.untilAnswered("the server is paused", () -> {
      container.getDockerClient().pauseContainerCmd(container.getContainerId()).exec();
      return true;
    });
  }

  /** Lets it run again; does nothing if it runs. */
  public void resume() {
    if (Boolean.TRUE.equals(container.getCurrentContainerInfo().getState().getPaused())) {
      container
          .getDockerClient()
          .unpauseContainerCmd(container.getContainerId())
          .exec();
    }
  }

  public boolean isRunning() {
    return container.isRunning();
  }

  /** Kills it without warning. */
  public void kill() {
    signal("KILL");
  }

  /** Sends its main process a signal. */
  public void signal(String name) {
    container
        .getDockerClient()
        .killContainerCmd(container.getContainerId())
        .withSignal(name)
        .exec();
  }

  /** Ends it as an operator does. */
  public void stop() {
    container
        .getDockerClient()
        .stopContainerCmd(container.getContainerId())
        .withTimeout(STOP_SECONDS_MAX)
        .exec();
  }

  /** Starts it again with its data; returns at once. Does nothing if it runs. */
  public void startAgain() {
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
  }

  @Override
  public void close() {
    container.close();
    memory.delete();
  }
}
