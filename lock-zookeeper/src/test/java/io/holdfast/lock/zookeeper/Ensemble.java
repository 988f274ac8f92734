package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.fault.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.wait.strategy.Wait;

/** Servers that elect a leader. */
final class Ensemble implements AutoCloseable {
  private static final Duration SESSION_TIMEOUT_MAX = ZooKeeperServer.SESSION_TIMEOUT_MAX;
  private static final int STOP_SECONDS_MAX = 10;
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  private final Network network = Network.newNetwork();
  private final List<GenericContainer<?>> servers = new ArrayList<>();
  private final List<Integer> ports = new ArrayList<>();

  /** Three of them, which agree to the same sessions. */
  Ensemble() {
    this(List.of(SESSION_TIMEOUT_MAX, SESSION_TIMEOUT_MAX, SESSION_TIMEOUT_MAX));
  }

  /** One for each of these longest session timeouts. */
  @SuppressWarnings("resource") // Closed with the others.
  Ensemble(List<Duration> sessionTimeoutsMax) {
    ZooKeeperServer.assumeDocker();
    int size = sessionTimeoutsMax.size();
    StringBuilder members = new StringBuilder();
    for (int id = 1; id <= size; id++) {
      members.append("server.").append(id).append("=zk").append(id).append(":2888:3888;2181 ");
    }
    for (int id = 1; id <= size; id++) {
      int port = Ports.free();
      GenericContainer<?> server = new GenericContainer<>("zookeeper:3.9")
          .withNetwork(network)
          .withNetworkAliases("zk" + id)
          .withExposedPorts(2181)
          .withEnv("ZOO_MY_ID", Integer.toString(id))
          .withEnv("ZOO_SERVERS", members.toString().strip())
          .withEnv("ZOO_TICK_TIME", "1000")
          .withEnv("ZOO_INIT_LIMIT", "10")
          .withEnv("ZOO_SYNC_LIMIT", "5")
          .withEnv("ZOO_MAX_CLIENT_CNXNS", "0")
          .withEnv(
              "ZOO_CFG_EXTRA",
              "maxSessionTimeout=" + sessionTimeoutsMax.get(id - 1).toMillis())
          .withEnv("ZOO_4LW_COMMANDS_WHITELIST", "*")
          .withEnv("JVMFLAGS", ZooKeeperServer.JVM_FLAGS)
          .waitingFor(Wait.forListeningPort().withStartupTimeout(STARTUP_MAX));
      server.setPortBindings(List.of(port + ":2181"));
      servers.add(server);
      ports.add(port);
    }
    // Side by side: none answers before there is a majority.
    servers.parallelStream().forEach(GenericContainer::start);
  }

  String address() {
    return ports.stream().map(this::address).collect(Collectors.joining(","));
  }

  /** The server of this number, by itself. */
  String address(int port) {
    return servers.get(0).getHost() + ":" + port;
  }

  int port(int index) {
    return ports.get(index);
  }

  String host() {
    return servers.get(0).getHost();
  }

  /** The index of the server that leads; waits until there is one. */
  int leader() {
    return find("leader");
  }

  /** The index of a server that follows. */
  int follower() {
    return find("follower");
  }

  private int find(String mode) {
    int[] found = {-1};
    Stores.eventually("there is a " + mode, () -> {
      for (int i = 0; i < servers.size() && found[0] < 0; i++) {
        if (modeOf(i).equals(mode)) {
          found[0] = i;
        }
      }
      return found[0] >= 0;
    });
    return found[0];
  }

  private String modeOf(int index) {
    if (!servers.get(index).isRunning()) {
      return "gone";
    }
    try {
      return FourLetters.ask(host(), ports.get(index), "srvr")
          .lines()
          .filter(line -> line.startsWith("Mode: "))
          .map(line -> line.substring("Mode: ".length()))
          .findFirst()
          .orElse("none");
    } catch (IOException e) {
      return "silent";
    }
  }

  void kill(int index) {
    GenericContainer<?> server = servers.get(index);
    server.getDockerClient().killContainerCmd(server.getContainerId()).exec();
  }

  /** Ends it as an operator does, and starts it again. */
  void restart(int index) {
    GenericContainer<?> server = servers.get(index);
    server
        .getDockerClient()
        .stopContainerCmd(server.getContainerId())
        .withTimeout(STOP_SECONDS_MAX)
        .exec();
    startAgain(index);
  }

  void startAgain(int index) {
    GenericContainer<?> server = servers.get(index);
    server.getDockerClient().startContainerCmd(server.getContainerId()).exec();
    Stores.eventually("it takes part again", () -> modeOf(index).matches("leader|follower"));
  }

  void pause(int index) {
    GenericContainer<?> server = servers.get(index);
    server.getDockerClient().pauseContainerCmd(server.getContainerId()).exec();
  }

  void resume(int index) {
    GenericContainer<?> server = servers.get(index);
    server.getDockerClient().unpauseContainerCmd(server.getContainerId()).exec();
    Stores.eventually("it takes part again", () -> modeOf(index).matches("leader|follower"));
  }

  /** Whether any server that runs has a watch on a path that begins so. */
  boolean hasWatchOn(String prefix) {
    for (int i = 0; i < servers.size(); i++) {
      try {
        if (servers.get(i).isRunning()
            && FourLetters.ask(host(), ports.get(i), "wchp")
                .lines()
                .anyMatch(line -> line.startsWith(prefix))) {
          return true;
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return false;
  }

  @Override
  public void close() {
    servers.forEach(GenericContainer::close);
    network.close();
  }
}
