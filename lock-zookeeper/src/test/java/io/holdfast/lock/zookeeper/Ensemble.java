package io.holdfast.lock.zookeeper;

import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.testcontainers.containers.Network;

/** Servers that elect a leader. */
final class Ensemble implements AutoCloseable {
  private static final Duration SESSION_TIMEOUT_MAX = ZooKeeperServer.SESSION_TIMEOUT_MAX;

  private final Network network = Network.newNetwork();
  private final List<ServerContainer> servers;

  /** Three of them, which agree to the same sessions. */
  Ensemble() {
    this(List.of(SESSION_TIMEOUT_MAX, SESSION_TIMEOUT_MAX, SESSION_TIMEOUT_MAX));
  }

  /** One for each of these longest session timeouts. */
  Ensemble(List<Duration> sessionTimeoutsMax) {
    ServerContainer.assumeDocker();
    int size = sessionTimeoutsMax.size();
    String members = IntStream.rangeClosed(1, size)
        .mapToObj(id -> "server." + id + "=zk" + id + ":2888:3888;2181")
        .collect(Collectors.joining(" "));
    Image image = Image.ZOOKEEPER
        .with("ZOO_SERVERS", members)
        .with("ZOO_INIT_LIMIT", "10")
        .with("ZOO_SYNC_LIMIT", "5");
    // Side by side: none answers before there is a majority.
    servers = IntStream.rangeClosed(1, size)
        .parallel()
        .mapToObj(id -> ServerContainer.start(
            image
                .with("ZOO_MY_ID", Integer.toString(id))
                .with("ZOO_CFG_EXTRA", ZooKeeperServer.limit(sessionTimeoutsMax.get(id - 1))),
            container -> container.withNetwork(network).withNetworkAliases("zk" + id)))
        .toList();
  }

  String address() {
    return servers.stream().map(ServerContainer::address).collect(Collectors.joining(","));
  }

  /** The server of this number, by itself. */
  String address(int port) {
    return host() + ":" + port;
  }

  int port(int index) {
    return servers.get(index).port();
  }

  String host() {
    return servers.get(0).host();
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
    Await.untilAnswered("there is a " + mode, () -> {
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
      return FourLetters.ask(host(), port(index), "srvr")
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
    servers.get(index).kill();
  }

  /** Ends it as an operator does, and starts it again. */
  void restart(int index) {
    servers.get(index).stop();
    startAgain(index);
  }

  void startAgain(int index) {
    servers.get(index).startAgain();
    awaitPart(index);
  }

  void pause(int index) {
    servers.get(index).pause();
  }

  void resume(int index) {
    servers.get(index).resume();
    awaitPart(index);
  }

  private void awaitPart(int index) {
    Await.untilAnswered("it takes part again", () -> modeOf(index).matches("leader|follower"));
  }

  /** Whether any server that runs has a watch on a path that begins so. */
  boolean hasWatchOn(String prefix) {
    for (int i = 0; i < servers.size(); i++) {
      try {
        if (servers.get(i).isRunning()
            && FourLetters.ask(host(), port(i), "wchp")
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
    servers.forEach(ServerContainer::close);
    network.close();
  }
}
