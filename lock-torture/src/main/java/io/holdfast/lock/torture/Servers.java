package io.holdfast.lock.torture;

import com.github.dockerjava.api.DockerClient;
import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.torture.Attempt.Interval;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.testcontainers.containers.GenericContainer;

/**
 * The servers of a store, each in a container of its own on the host's network: they and their
 * clients know each other by the same addresses, which they keep when they are started again.
 *
 * <p>Threads: one at a time for each server.
 */
final class Servers implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);
  private static final long PAUSE_NANOS = 200_000_000;
  private static final int STOP_SECONDS_MAX = 10;
  private static final int PAUSE_TRIES = 12;

  private final List<GenericContainer<?>> containers = new ArrayList<>();
  private final List<Address> addresses = new ArrayList<>();
  private @Nullable StandbyPair pair;
  private @Nullable ServerClocks clocks;

  private Servers() {}

  static Servers start(StoreKind store) throws Exception {
    Servers servers = new Servers();
    boolean started = false;
    try {
      servers.startAll(store);
      started = true;
    } finally {
      if (!started) {
        servers.close();
      }
    }
    return servers;
  }

  private void startAll(StoreKind store) throws Exception {
    switch (store) {
      case POSTGRES -> postgres();
      case POSTGRES_2 -> postgresPair();
      case MYSQL -> mySql();
      case MYSQL_2 -> mySqlPair();
      case MARIADB -> mariaDb();
      case REDIS -> redis(Ports.free());
      case REDIS_QUORUM -> {
        for (int i = 0; i < store.servers(); i++) {
          redis(Ports.free());
        }
      }
      case REDIS_SENTINEL -> sentinel();
      case REDIS_CLUSTER -> cluster(store.servers());
      case ZOOKEEPER, ZOOKEEPER_3 -> zooKeeper(store.servers());
      case CONSUL, CONSUL_3 -> consul(store.servers());
    }
    if (store.hasClocksToSet()) {
      clocks = new ServerClocks();
      clocks.compile();
      for (GenericContainer<?> container : containers) {
        clocks.addTo(container);
      }
    }
    if (pair != null) {
      pair.start();
    } else {
      containers.parallelStream().forEach(GenericContainer::start);
      addresses.forEach(Servers::awaitListening);
    }
    if (store == StoreKind.REDIS_CLUSTER) {
      formCluster();
    }
  }

  private void postgres() {
    int port = Ports.free();
    add(
        port,
        new GenericContainer<>("postgres:17")
            .withEnv(
                Map.of("POSTGRES_PASSWORD", SqlAccess.PASSWORD, "POSTGRES_DB", SqlAccess.DATABASE))
            .withCommand("-p", text(port), "-c", "max_connections=200"));
  }

  private void postgresPair() {
    int primary = Ports.free();
    for (int port : List.of(primary, Ports.free())) {
      String script = StandbyPair.Postgres.script(port, port == primary ? 0 : primary);
      add(
          port,
          new GenericContainer<>("postgres:17")
              .withEnv(Map.of(
                  "POSTGRES_PASSWORD", SqlAccess.PASSWORD, "POSTGRES_DB", SqlAccess.DATABASE))
              .withCreateContainerCmdModifier(
                  create -> create.withEntrypoint("bash", "-c", script)));
    }
    pair = new StandbyPair.Postgres(containers, addresses);
  }

  private void mySql(String... more) {
    int port = Ports.free();
    List<String> command =
        new ArrayList<>(List.of("--port=" + port, "--mysqlx=OFF", "--max-connections=200"));
    command.addAll(List.of(more));
    add(
        port,
        new GenericContainer<>("mysql:9")
            .withEnv(Map.of(
                "MYSQL_ROOT_PASSWORD", SqlAccess.PASSWORD, "MYSQL_DATABASE", SqlAccess.DATABASE))
            .withCommand(command.toArray(String[]::new)));
  }

  private void mySqlPair() {
    for (int id = 1; id <= 2; id++) {
      mySql("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=" + id);
    }
    pair = new StandbyPair.MySql(containers, addresses);
  }

  private void mariaDb() {
    int port = Ports.free();
    add(
        port,
        new GenericContainer<>("mariadb:11.8")
            .withEnv(Map.of(
                "MARIADB_ROOT_PASSWORD", SqlAccess.PASSWORD,
                "MARIADB_USER", SqlAccess.MARIADB_USER,
                "MARIADB_PASSWORD", SqlAccess.PASSWORD,
                "MARIADB_DATABASE", SqlAccess.DATABASE))
            .withCommand("--port=" + port, "--max-connections=200"));
  }

  /**
   * Starts a Redis server. A confirmed write outlives the kill of the server; to outlive the
   * machine it would have to be on disk.
   */
  private void redis(int port, String... more) {
    List<String> settings = new ArrayList<>(List.of(
        "port " + port,
        "protected-mode no",
        "save \"\"",
        "appendonly yes",
        "appendfsync no",
        "repl-diskless-sync-delay 0"));
    settings.addAll(List.of(more));
    redis(port, settings, "redis-server redis.conf");
  }

  /** Starts a server with a file of settings, which Sentinel changes. */
  private void redis(int port, List<String> settings, String command) {
    String lines =
        String.join(" ", settings.stream().map(line -> "'" + line + "'").toList());
    String script = "cd /data && { test -e redis.conf || for s in " + lines
        + "; do echo \"$s\"; done >redis.conf; } && exec " + command;
    add(port, new GenericContainer<>("redis:8.0").withCommand("sh", "-c", script));
  }

  private void sentinel() {
    int primary = Ports.free();
    redis(primary);
    redis(Ports.free(), "replicaof " + Address.LOOPBACK + " " + primary);
    int port = Ports.free();
    String name = RedisAccess.PRIMARY_NAME;
    redis(
        port,
        List.of(
            "port " + port,
            "protected-mode no",
            "sentinel monitor " + name + " " + Address.LOOPBACK + " " + primary + " 1",
            "sentinel down-after-milliseconds " + name + " 2000",
            "sentinel failover-timeout " + name + " 6000"),
        "redis-server redis.conf --sentinel");
  }

  private void cluster(int count) {
    for (int i = 0; i < count; i++) {
      redis(
          Ports.free(),
          "cluster-enabled yes",
          "cluster-config-file nodes.conf",
          "cluster-port " + Ports.free(),
          "cluster-node-timeout 3000",
          "cluster-require-full-coverage no",
          "cluster-announce-ip " + Address.LOOPBACK);
    }
  }

  private void formCluster() throws Exception {
    String nodes = String.join(" ", addresses.stream().map(Address::toString).toList());
    var made = containers
        .get(0)
        .execInContainer(
            "sh",
            "-c",
            "redis-cli --cluster create " + nodes + " --cluster-replicas 1 --cluster-yes");
    if (made.getExitCode() != 0) {
      throw new IllegalStateException("The Cluster was not made: " + made);
    }
  }

  private void zooKeeper(int count) {
    List<Integer> ports = ports(count);
    String members = IntStream.range(0, count)
        .mapToObj(i -> "server." + (i + 1) + "=" + Address.LOOPBACK + ":" + Ports.free() + ":"
            + Ports.free() + ";" + ports.get(i))
        .collect(Collectors.joining(" "));
    for (int i = 0; i < count; i++) {
      add(
          ports.get(i),
          new GenericContainer<>("zookeeper:3.9")
              .withEnv(Map.of(
                  "ZOO_MY_ID", text(i + 1),
                  "ZOO_SERVERS", members,
                  "ZOO_TICK_TIME", "1000",
                  "ZOO_INIT_LIMIT", "10",
                  "ZOO_SYNC_LIMIT", "5",
                  "ZOO_MAX_CLIENT_CNXNS", "0",
                  "ZOO_ADMINSERVER_ENABLED", "false")));
    }
  }

  private void consul(int count) {
    List<Integer> lan = ports(count);
    for (int i = 0; i < count; i++) {
      int http = Ports.free();
      List<String> command = new ArrayList<>(List.of(
          "agent",
          "-server",
          "-node=agent-" + i,
          "-bootstrap-expect=" + count,
          "-client=" + Address.LOOPBACK,
          "-bind=" + Address.LOOPBACK,
          "-retry-interval=1s",
          "-hcl=performance { raft_multiplier = 1 }",
          "-hcl=limits { http_max_conns_per_client = 2000 }",
          "-hcl=ports { http = " + http + " dns = -1 server = " + Ports.free() + " serf_lan = "
              + lan.get(i) + " serf_wan = " + Ports.free() + " }"));
      if (count > 1) {
        command.add("-hcl=leave_on_terminate = true");
        command.add("-hcl=rejoin_after_leave = true");
        for (int other : lan) {
          command.add("-retry-join=" + Address.LOOPBACK + ":" + other);
        }
      }
      add(http, new GenericContainer<>("consul:1.8").withCommand(command.toArray(String[]::new)));
    }
  }

  private static List<Integer> ports(int count) {
    return IntStream.range(0, count).mapToObj(i -> Ports.free()).toList();
  }

  private static String text(int number) {
    return Integer.toString(number);
  }

  private void add(int port, GenericContainer<?> container) {
    addresses.add(Address.local(port));
    containers.add(container.withNetworkMode("host"));
  }

  private static void awaitListening(Address address) {
    Waiting.until("somebody listens at " + address, STARTUP_MAX, () -> {
      try (Socket socket = new Socket(address.host(), address.port())) {
        return socket.isConnected();
      } catch (IOException e) {
        return false;
      }
    });
  }

  /** Returns the addresses for clients: of each server, or of the primary of a pair. */
  List<Address> entrances() {
    return pair == null ? addresses() : List.of(pair.primary());
  }

  /** Returns the pair; only for stores that have one. */
  StandbyPair pair() {
    return Objects.requireNonNull(pair);
  }

  /** Returns the address of each server. */
  List<Address> addresses() {
    return List.copyOf(addresses);
  }

  void kill(int server) {
    docker(server).killContainerCmd(id(server)).exec();
  }

  /** Stops a server as an operator does it. */
  void stop(int server) {
    docker(server).stopContainerCmd(id(server)).withTimeout(STOP_SECONDS_MAX).exec();
  }

  void startAgain(int server) {
    if (!containers.get(server).isRunning()) {
      docker(server).startContainerCmd(id(server)).exec();
      awaitListening(addresses.get(server));
    }
  }

  /** Tries several times: the kernel can fail to stop a process that waits for the disk. */
  void pause(int server) {
    for (int tries = 1; ; tries++) {
      try {
        docker(server).pauseContainerCmd(id(server)).exec();
        return;
      } catch (RuntimeException e) {
        if (tries == PAUSE_TRIES || !String.valueOf(e.getMessage()).contains("unable to freeze")) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  void resume(int server) {
    docker(server).unpauseContainerCmd(id(server)).exec();
  }

  /** Sets a server's clock to this much ahead of the machine's; negative: behind. */
  void setClock(int server, long aheadMillis) {
    Objects.requireNonNull(clocks).set(server, aheadMillis);
  }

  /** Returns when the wall clock of a server jumped ahead by more than any store may ignore. */
  List<Interval> jumpsAhead() {
    return clocks == null ? List.of() : clocks.jumpsAhead();
  }

  private DockerClient docker(int server) {
    return containers.get(server).getDockerClient();
  }

  private String id(int server) {
    return containers.get(server).getContainerId();
  }

  @Override
  public void close() throws IOException {
    containers.parallelStream().forEach(GenericContainer::close);
    if (clocks != null) {
      clocks.close();
    }
  }
}
