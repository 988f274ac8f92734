package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A write under a guard is refused from the close of its lease on. */
class GuardTest {
  private static ServerContainer server;

  private final String name = "guard-" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  /** The minimum hold keeps the name taken, by the same session. */
  @Test
  void afterTheCloseNothingIsWrittenWhileTheMinimumHoldRuns() throws Exception {
    LockOptions options = LockOptions.defaults().withMinHold(Duration.ofSeconds(20));
    try (LockClient client =
        ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server)).build()) {
      String write;
      try (Lease lease = client.get(name, options).lock()) {
        write = "["
            + ConsulGuard.of(lease).operation()
            + ",{\"KV\":{\"Verb\":\"set\",\"Key\":\"guarded/"
            + name
            + "\",\"Value\":\"eA==\"}}]";
        assertThat(status(write)).isEqualTo(200);
      }
      assertThat(client.get(name).inspect().orElseThrow().isReleased()).isTrue();
      assertThat(status(write)).isEqualTo(409);
    }
  }

  /** The earlier lease had the same key. */
  @Test
  void nothingIsWrittenForAnEarlierLease() throws Exception {
    try (LockClient client =
        ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server)).build()) {
      Lease lease = client.get(name).lock();
      String write = "[" + ConsulGuard.of(lease).operation() + "]";
      assertThat(status(write)).isEqualTo(200);
      lease.close();
      try (Lease next = client.get(name).lock()) {
        assertThat(status(write)).isEqualTo(409);
        assertThat(status("[" + ConsulGuard.of(next).operation() + "]")).isEqualTo(200);
      }
    }
  }

  private static int status(String transaction) throws IOException {
    return new TestHttp(ConsulServer.address(server))
        .put("/v1/txn", transaction)
        .status();
  }
}
