package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.kiwiproject.consul.Consul;
import org.kiwiproject.consul.model.session.ImmutableSession;

/** Locks that are shared with programs that lock by consul-client. */
class ConsulClientTest {
  private static KitContainer server;
  private static Consul consul;

  private final String name = "orders/" + UUID.randomUUID();
  private final String key = "shop/" + name + "/.lock";
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private String session;

  @BeforeAll
  static void start() {
    server = new KitContainer();
    consul = Consul.builder().withUrl(server.address()).build();
  }

  @AfterAll
  static void stop() {
    consul.destroy();
    server.close();
  }

  @BeforeEach
  void makeSession() {
    session = consul
        .sessionClient()
        .createSession(ImmutableSession.builder().name("theirs").ttl("60s").build())
        .getId();
  }

  @AfterEach
  void end() {
    consul.sessionClient().destroySession(session);
    thread.shutdownNow();
  }

  private static LockClient client() {
    return ConsulLocks.classic(new OkHttpClient(), server.address())
        .prefix("shop")
        .build();
  }

  private boolean theyAcquire() {
    return consul.keyValueClient().acquireLock(key, "theirs", session);
  }

  private boolean theyRelease() {
    return consul.keyValueClient().releaseLock(key, session);
  }

  @Test
  void whatConsulClientHoldsIsBusyAndComesToTheWaiterAfterIt() throws Exception {
    assertThat(theyAcquire()).isTrue();
    try (LockClient client = client()) {
      assertThat(client.get(name).tryLock()).isEmpty();
      assertThat(client.get(name).inspect().orElseThrow().description()).isEqualTo("theirs");
      Future<Boolean> turn = thread.submit(() -> client.get(name).call(lease -> {
        lease.verify();
        return theyAcquire();
      }));
      assertThat(client.get(name).tryLock()).isEmpty();
      assertThat(turn.isDone()).isFalse();
      assertThat(theyRelease()).isTrue();
      assertThat(turn.get(30, TimeUnit.SECONDS)).as("theirs, while it is held").isFalse();
    }
    assertThat(theyAcquire()).as("released").isTrue();
  }

  @Test
  void consulClientIsRefusedWhatWeHoldAndMayHaveItAfterwards() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.get(name).lock();
      assertThat(theyAcquire()).isFalse();
      assertThat(theyRelease()).isFalse();
      lease.verify();
      lease.close();
      assertThat(theyAcquire()).isTrue();
      assertThat(client.get(name).tryLock()).isEmpty();
      assertThat(theyRelease()).isTrue();
      eventually("it is free", () -> {
        try {
          client.get(name).tryLock().orElseThrow().close();
          return true;
        } catch (java.util.NoSuchElementException e) {
          return false;
        }
      });
    }
  }
}
