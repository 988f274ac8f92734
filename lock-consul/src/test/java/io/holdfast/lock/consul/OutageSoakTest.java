package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ten long outages with default options, each of a server of its own. */
@Tag("soak")
class OutageSoakTest {
  private static final int OUTAGES = 10;

  /**
   * The documented time after an outage in which the name is free: two store timeouts and two
   * seconds.
   */
  private static final Duration FREE_WITHIN = Duration.ofSeconds(2 * 5 + 2);

  private static final List<ServerContainer> servers = new ArrayList<>();

  private final String run = UUID.randomUUID().toString();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeAll
  static void start() {
    for (int i = 0; i < OUTAGES; i++) {
      servers.add(ConsulServer.start());
    }
  }

  @AfterAll
  static void stop() {
    servers.forEach(ServerContainer::close);
  }

  @AfterEach
  void end() {
    servers.forEach(ServerContainer::resume);
    threads.shutdownNow();
  }

  private static LockClient client(ServerContainer server, OkHttpClient users) {
    return ConsulLocks.builder(users, ConsulServer.address(server)).build();
  }

  private static int inLine(ServerContainer server, String name) {
    try {
      return new TestHttp(ConsulServer.address(server))
          .keys("holdfast/m/" + name + "/")
          .size();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The outcome of one outage. */
  private record Outage(boolean held, Duration freeAfter) {}

  @ParameterizedTest
  @ValueSource(ints = {20, 75, 150})
  void everyNameIsFreeSoonAfterConsulAnswersAgain(int seconds) throws Exception {
    List<Future<Outage>> outages = new ArrayList<>();
    for (ServerContainer server : servers) {
      outages.add(threads.submit(() -> outage(server, seconds)));
    }
    int held = 0;
    Duration longest = Duration.ZERO;
    for (Future<Outage> one : outages) {
      Outage outage = one.get(10, TimeUnit.MINUTES);
      held += outage.held() ? 1 : 0;
      longest = outage.freeAfter().compareTo(longest) > 0 ? outage.freeAfter() : longest;
    }
    System.out.printf(
        "outage: %d of %d s, %d leases still held, the last name free after %d ms%n",
        OUTAGES, seconds, held, longest.toMillis());
    assertThat(longest).isLessThan(FREE_WITHIN);
  }

  private Outage outage(ServerContainer server, int seconds) throws Exception {
    String name = "outage-" + run + seconds;
    try (LockClient other = client(server, new OkHttpClient());
        LockClient holder = client(server, new OkHttpClient());
        LockClient waiting = client(server, new OkHttpClient())) {
      Lease lease = holder.get(name).lock();
      Future<Lease> turn = threads.submit(() -> waiting.get(name).lock());
      Await.until("somebody waits", () -> inLine(server, name) == 2);
      server.pause();
      TimeUnit.SECONDS.sleep(seconds);
      server.resume();
      long resumed = System.nanoTime();
      boolean held = lease.isHeld();
      try {
        lease.close();
      } catch (LockLostException e) {
        assertThat(lease.isHeld()).isFalse();
      }
      assertThatExceptionOfType(ExecutionException.class)
          .isThrownBy(() -> turn.get(30, TimeUnit.SECONDS))
          .withCauseInstanceOf(LockStoreException.class);
      return new Outage(held, freeAfter(other, name, resumed));
    }
  }

  private static Duration freeAfter(LockClient other, String name, long sinceNanos)
      throws InterruptedException {
    while (true) {
      try {
        other.get(name).tryLock(Duration.ofMinutes(2)).orElseThrow().close();
        return Duration.ofNanos(System.nanoTime() - sinceNanos);
      } catch (LockStoreException e) {
        TimeUnit.MILLISECONDS.sleep(100);
      }
    }
  }

  @Test
  void aLockRequestThatArrivesLongAfterItWasGivenUpTakesNothing() throws Exception {
    List<Request> late = new ArrayList<>();
    try (LockClient other = client(servers.get(0), new OkHttpClient())) {
      List<LockClient> clients = new ArrayList<>();
      for (int i = 0; i < OUTAGES; i++) {
        Script script = new Script();
        LockClient client = client(
            servers.get(0), new OkHttpClient.Builder().addInterceptor(script).build());
        clients.add(client);
        client.get("warm-" + run + i).lock().close();
        AtomicReference<Request> copy = new AtomicReference<>();
        script.next(2, Script.TRANSACTION, chain -> {
          copy.set(chain.request());
          throw new IOException("Held back");
        });
        String name = "late-" + run + i;
        assertThatExceptionOfType(LockStoreException.class)
            .isThrownBy(() -> client.get(name).tryLock().isPresent());
        late.add(copy.get());
      }
      TimeUnit.SECONDS.sleep(35);
      for (Request request : late) {
        try (Response response = new OkHttpClient().newCall(request).execute()) {
          assertThat(response.code()).isEqualTo(409);
        }
      }
      for (int i = 0; i < OUTAGES; i++) {
        other.get("late-" + run + i).tryLock().orElseThrow().close();
      }
      clients.forEach(LockClient::close);
    }
  }
}
