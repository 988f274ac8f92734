package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The first byte that a server of Redis gets shows whether the client begins with TLS. */
class RedisTlsTest {
  private static final int TLS_HANDSHAKE = 0x16;
  private static final int REDIS_COMMAND = '*';
  private static final int DEADLINE_SECONDS = 30;

  private final CompletableFuture<Integer> firstByte = new CompletableFuture<>();
  private ServerSocket server;

  @BeforeEach
  void listen() throws IOException {
    server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    Thread thread = new Thread(() -> {
      try (Socket socket = server.accept()) {
        firstByte.complete(socket.getInputStream().read());
      } catch (IOException e) {
        firstByte.completeExceptionally(e);
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  @Test
  void aUrlThatAsksForTlsGetsIt() throws Exception {
    connect("spring.data.redis.url=rediss://:hush@" + address());

    assertThat(received()).isEqualTo(TLS_HANDSHAKE);
  }

  @Test
  void soDoSentinelsBesideTheUrl() throws Exception {
    connect(
        "spring.data.redis.url=rediss://:hush@elsewhere:6379",
        "spring.data.redis.sentinel.master=shop",
        "spring.data.redis.sentinel.password=hush",
        "spring.data.redis.sentinel.nodes=" + address());

    assertThat(received()).isEqualTo(TLS_HANDSHAKE);
  }

  @Test
  void aUrlWithoutTlsGetsNone() throws Exception {
    connect("spring.data.redis.url=redis://:hush@" + address());

    assertThat(received()).isEqualTo(REDIS_COMMAND);
  }

  @Test
  void connectionDetailsOfTheApplicationSayThemselvesWhetherTheyNeedTls() throws Exception {
    DataRedisConnectionDetails own = new DataRedisConnectionDetails() {
      @Override
      public Standalone getStandalone() {
        return Standalone.of(server.getInetAddress().getHostAddress(), server.getLocalPort());
      }
    };
    connect(
        runner().withBean(DataRedisConnectionDetails.class, () -> own),
        "spring.data.redis.url=rediss://:hush@elsewhere:6379");

    assertThat(received()).isEqualTo(REDIS_COMMAND);
  }

  private static void connect(String... properties) {
    connect(runner(), properties);
  }

  /** Starts an application, which can't succeed: the server closes the connection. */
  private static void connect(ApplicationContextRunner runner, String... properties) {
    runner
        .withPropertyValues("holdfast.store=redis", "holdfast.store-timeout=2s")
        .withPropertyValues(properties)
        .run(context -> assertThat(context).hasFailed());
  }

  private static ApplicationContextRunner runner() {
    return Runners.plain()
        .withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class));
  }

  private String address() {
    return server.getInetAddress().getHostAddress() + ":" + server.getLocalPort();
  }

  private int received() throws Exception {
    return firstByte.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
  }
}
