package io.holdfast.lock.redis;

import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.function.Executable;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import redis.clients.jedis.HostAndPort;

/**
 * Servers that know each other by 127.0.0.1, in one container: at ports that are the same inside
 * and outside, so that what they say of each other is true for a client outside as well.
 */
public final class ManyServers implements AutoCloseable {
  private static final String LOOPBACK = "127.0.0.1";
  private static final Duration STARTUP_MAX = Duration.ofMinutes(1);

  /**
   * What is confirmed outlives a server that is killed. To outlive the machine as well it would
   * have to be on disk, by "always", for which tests need not wait.
   */
  static final String DURABLE = "--appendonly yes --appendfsync no";

  private final GenericContainer<?> container;
  private final List<Integer> ports;
  private final List<Integer> busPorts;
  private final Map<Integer, String> starts = new HashMap<>();

  private ManyServers(int count) {
    ServerContainer.assumeDocker();
    ports = IntStream.range(0, count).map(i -> Ports.free()).boxed().toList();
    busPorts = IntStream.range(0, count).map(i -> Ports.free()).boxed().toList();
    container = new GenericContainer<>(Image.REDIS.name())
        .withExposedPorts(ports.toArray(Integer[]::new))
        .withCommand("sh", "-c", "echo open; exec sleep 3600")
        .waitingFor(Wait.forLogMessage("open\n", 1).withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(ports.stream().map(port -> port + ":" + port).toList());
    container.start();
  }

  /** A Cluster of three primaries without replicas. */
  static ManyServers cluster() throws Exception {
    // So long that nobody takes another for dead because the machine is busy.
    return cluster(3, Duration.ofSeconds(15));
  }

  /** A Cluster of three primaries, and a fourth one (3) that has no slot. */
  static ManyServers clusterWithEmptyNode() throws Exception {
    ManyServers servers = cluster(4, Duration.ofSeconds(15));
    servers.run("redis-cli -p " + servers.ports.get(3) + " cluster meet " + LOOPBACK + " "
        + servers.ports.get(0) + " " + servers.busPorts.get(0));
    for (int i = 0; i < 4; i++) {
      for (int port : servers.ports) {
        servers.awaitOutput(
            "redis-cli -p " + servers.ports.get(i) + " cluster nodes", ":" + port + "@");
      }
    }
    servers.awaitOutput(
        "redis-cli -p " + servers.ports.get(3) + " cluster info", "cluster_state:ok");
    return servers;
  }

  /** A Cluster of three primaries, of which the first one (0) has a replica (3). */
  static ManyServers clusterWithReplica() throws Exception {
    ManyServers servers = cluster(4, Duration.ofSeconds(2));
    String primary = "redis-cli -p " + servers.ports.get(0);
    String replica = "redis-cli -p " + servers.ports.get(3);
    servers.run(replica + " cluster meet " + LOOPBACK + " " + servers.ports.get(0) + " "
        + servers.busPorts.get(0));
    String id = servers.run(primary + " cluster myid").strip();
    servers.awaitOutput(replica + " cluster nodes", id);
    servers.awaitOutput(replica + " cluster replicate " + id, "OK");
    servers.awaitOutput(replica + " info", "master_link_status:up");
    for (int i = 0; i < 3; i++) {
      servers.awaitOutput("redis-cli -p " + servers.ports.get(i) + " cluster nodes", "slave " + id);
    }
    return servers;
  }

  private static ManyServers cluster(int count, Duration nodeTimeout) throws Exception {
    ManyServers servers = new ManyServers(count);
    List<String> nodes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      servers.startServer(
          i,
          "--cluster-enabled yes --cluster-config-file nodes-" + i + ".conf --cluster-port "
              + servers.busPorts.get(i)
              + " --cluster-node-timeout " + nodeTimeout.toMillis()
              + " --cluster-require-full-coverage no"
              + " --cluster-announce-ip "
              + LOOPBACK);
      servers.awaitOutput("redis-cli -p " + servers.ports.get(i) + " ping", "PONG");
    }
    for (int i = 0; i < 3; i++) {
      nodes.add(LOOPBACK + ":" + servers.ports.get(i));
    }
    servers.run("redis-cli --cluster create " + String.join(" ", nodes) + " --cluster-yes");
    for (int i = 0; i < 3; i++) {
      servers.awaitOutput(
          "redis-cli -p " + servers.ports.get(i) + " cluster info", "cluster_state:ok");
    }
    return servers;
  }

  /** A server (0) that takes nothing but TLS, with this certificate and key in PEM. */
  static ManyServers tls(String certificate, String key) throws Exception {
    ManyServers servers = new ManyServers(1);
    servers.run("cat > certificate.pem <<'END'\n" + certificate + "END\n");
    servers.run("cat > key.pem <<'END'\n" + key + "END\n");
    int port = servers.ports.get(0);
    String files = " --tls-cert-file ../certificate.pem --tls-key-file ../key.pem";
    servers.start(
        0,
        "redis-server --daemonize yes --port 0 --tls-port " + port + " --tls-auth-clients no"
            + files + " --dir server-0 --pidfile pid --protected-mode no --save ''");
    servers.awaitOutput("redis-cli --tls --insecure -p " + port + " ping", "PONG");
    return servers;
  }

  /** Servers that know nothing of each other; what they confirmed outlives them. */
  public static ManyServers independent(int count) throws Exception {
    return independent(count, DURABLE);
  }

  /** Servers that know nothing of each other. */
  public static ManyServers independent(int count, String options) throws Exception {
    ManyServers servers = new ManyServers(count);
    for (int i = 0; i < count; i++) {
      servers.startServer(i, options);
    }
    for (int i = 0; i < count; i++) {
      servers.awaitPong(i);
    }
    return servers;
  }

  /** A primary (0) and its replica (1). */
  static ManyServers replicated() throws Exception {
    ManyServers servers = new ManyServers(2);
    servers.startPrimaryAndReplica();
    return servers;
  }

  /** A primary (0), its replica (1) and a Sentinel (2) that needs nobody's consent. */
  static ManyServers sentinel() throws Exception {
    ManyServers servers = new ManyServers(3);
    servers.startPrimaryAndReplica();
    servers.run("printf '%s\\n' 'port " + servers.ports.get(2) + "'"
        + " 'protected-mode no' 'pidfile server-2/pid'"
        + " 'sentinel monitor locks " + LOOPBACK + " " + servers.ports.get(0) + " 1'"
        + " 'sentinel down-after-milliseconds locks 5000'"
        + " 'sentinel failover-timeout locks 10000' > sentinel.conf");
    servers.run("mkdir -p server-2 && redis-server sentinel.conf --sentinel --daemonize yes");
    servers.awaitOutput(
        "redis-cli -p " + servers.ports.get(2) + " sentinel replicas locks",
        String.valueOf(servers.ports.get(1)));
    return servers;
  }

  private void startPrimaryAndReplica() throws Exception {
    startServer(0, "--repl-diskless-sync-delay 0");
    startServer(1, "--replicaof " + LOOPBACK + " " + ports.get(0));
    awaitOutput("redis-cli -p " + ports.get(1) + " info", "master_link_status:up");
  }

  private void awaitPong(int index) throws Exception {
    awaitOutput("redis-cli -p " + ports.get(index) + " ping", "PONG");
  }

  /** Starts a server again, as it was started before, with what it has on disk. */
  public void restart(int index) throws Exception {
    start(index, starts.get(index));
    awaitPong(index);
  }

  private void startServer(int index, String options) throws Exception {
    start(
        index,
        "redis-server --daemonize yes --port " + ports.get(index) + " --dir server-" + index
            + " --pidfile pid --protected-mode no --save '' " + options);
  }

  private void start(int index, String command) throws Exception {
    starts.put(index, command);
    run("mkdir -p server-" + index + " && " + command);
  }

  public HostAndPort address(int index) {
    return new HostAndPort(LOOPBACK, ports.get(index));
  }

  public boolean isRunning(int index) throws Exception {
    return container
        .execInContainer("redis-cli", "-p", String.valueOf(ports.get(index)), "ping")
        .getStdout()
        .contains("PONG");
  }

  /** Ends a server with no time to prepare. */
  public void kill(int index) throws Exception {
    run("kill -9 $(cat server-" + index + "/pid)");
    awaitOutput("redis-cli -p " + ports.get(index) + " ping 2>&1", "refused");
  }

  /** Has a server do nothing, and lose nothing, until it goes on. */
  public void pause(int index) throws Exception {
    run("kill -STOP $(cat server-" + index + "/pid)");
  }

  public void goOn(int index) throws Exception {
    run("kill -CONT $(cat server-" + index + "/pid)");
  }

  /** Runs something while these servers do nothing. */
  void whilePaused(List<Integer> paused, Executable action) throws Throwable {
    try {
      for (int index : paused) {
        pause(index);
      }
      action.execute();
    } finally {
      for (int index : paused) {
        goOn(index);
      }
    }
  }

  private String run(String command) throws IOException, InterruptedException {
    ExecResult result = container.execInContainer("sh", "-c", command);
    if (result.getExitCode() != 0) {
      throw new IllegalStateException(command + ": " + result);
    }
    return result.getStdout();
  }

  private void awaitOutput(String command, String part) throws Exception {
    Await.until(
        command + " says " + part,
        () -> container.execInContainer("sh", "-c", command).getStdout().contains(part));
  }

  @Override
  public void close() {
    container.close();
  }
}
