package io.holdfast.lock.spring.boot;

import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * Servers of Redis in one container that know each other by 127.0.0.1: at ports that are the same
 * inside and outside, so that what they say of each other is true for a client outside as well.
 */
final class RedisContainer implements AutoCloseable {
  static final String IMAGE = "redis:8.0";
  static final String PASSWORD = "of-the-servers";
  static final String SENTINEL_PASSWORD = "of-the-sentinel";
  static final String PRIMARY = "shop";

  /** Below the ports that operating systems use for outgoing connections. */
  private static final int PORT_FIRST = 12_000;

  private static final int PORT_END = 19_000;
  private static final String LOOPBACK = "127.0.0.1";
  private static final Duration STARTUP_MAX = Duration.ofMinutes(1);

  private static final String FUNCTIONS = """
      set -eu
      start() { # port, option...
        port=$1; shift; mkdir -p $port
        redis-server --daemonize yes --port $port --dir $port --protected-mode no --save '' "$@"
      }
      await() { # part, command...
        part=$1; shift
        until "$@" 2>&1 | grep -q "$part"; do sleep 0.1; done
      }
      """;

  private final GenericContainer<?> container;
  private final List<Integer> ports;

  private RedisContainer(List<Integer> ports, Map<String, String> environment, String script) {
    ServerContainer.assumeDocker();
    this.ports = ports;
    container = new GenericContainer<>(IMAGE)
        .withEnv(environment)
        .withEnv("PASSWORD", PASSWORD)
        .withEnv("SENTINEL_PASSWORD", SENTINEL_PASSWORD)
        .withEnv("PORTS", ports.stream().map(String::valueOf).collect(Collectors.joining(" ")))
        .withExposedPorts(ports.toArray(Integer[]::new))
        .withCommand("sh", "-c", FUNCTIONS + script + "echo all are up; exec sleep 3600")
        .waitingFor(Wait.forLogMessage(".*all are up.*", 1).withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(ports.stream().map(port -> port + ":" + port).toList());
    container.start();
  }

  /** Starts a Cluster of three primaries, with a password. */
  static RedisContainer cluster() {
    return new RedisContainer(freePorts(3), Map.of(), """
        nodes=
        for port in $PORTS; do
          start $port --requirepass $PASSWORD --masterauth $PASSWORD --cluster-enabled yes \
            --cluster-port $((port + 10000)) --cluster-announce-ip 127.0.0.1 \
            --cluster-node-timeout 15000
          await PONG redis-cli --no-auth-warning -a $PASSWORD -p $port ping
          nodes="$nodes 127.0.0.1:$port"
        done
        redis-cli --no-auth-warning -a $PASSWORD --cluster create $nodes --cluster-yes
        for port in $PORTS; do
          await cluster_state:ok redis-cli --no-auth-warning -a $PASSWORD -p $port cluster info
        done
        """);
  }

  /** Starts a server (0) and a Sentinel (1) that names it, each with its own password. */
  static RedisContainer sentinel() {
    return new RedisContainer(freePorts(2), Map.of(), """
        set -- $PORTS
        start $1 --requirepass $PASSWORD
        await PONG redis-cli --no-auth-warning -a $PASSWORD -p $1 ping
        printf '%s\\n' "port $2" 'protected-mode no' "requirepass $SENTINEL_PASSWORD" \
          "sentinel monitor shop 127.0.0.1 $1 1" "sentinel auth-pass shop $PASSWORD" > sentinel.conf
        redis-server sentinel.conf --sentinel --daemonize yes
        await $1 redis-cli --no-auth-warning -a $SENTINEL_PASSWORD -p $2 \
          sentinel get-master-addr-by-name shop
        """);
  }

  /**
   * Starts a server that speaks nothing but TLS.
   *
   * @param certificate its certificate in PEM, which is also the only one that clients may have
   */
  static RedisContainer tls(String certificate, String key) {
    return new RedisContainer(freePorts(1), Map.of("CERTIFICATE", certificate, "KEY", key), """
        echo "$CERTIFICATE" > certificate.pem
        echo "$KEY" > key.pem
        start 0 --tls-port $PORTS --tls-cert-file ../certificate.pem --tls-key-file ../key.pem \
          --tls-ca-cert-file ../certificate.pem --tls-auth-clients yes
        await PONG redis-cli --tls --insecure --cert certificate.pem --key key.pem -p $PORTS ping
        """);
  }

  private static List<Integer> freePorts(int count) {
    return IntStream.generate(RedisContainer::freePort)
        .distinct()
        .limit(count)
        .boxed()
        .toList();
  }

  private static int freePort() {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(PORT_FIRST, PORT_END);
      try (ServerSocket socket = new ServerSocket(port)) {
        return socket.getLocalPort();
      } catch (java.net.BindException e) {
        // It is taken: tries another one.
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Returns the address of a server, by number rather than by name. */
  String address(int index) {
    return LOOPBACK + ":" + ports.get(index);
  }

  int port(int index) {
    return ports.get(index);
  }

  @Override
  public void close() {
    container.close();
  }
}
