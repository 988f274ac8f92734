package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
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

/** Consul away for long, with default options: ten holders, and somebody behind each. */
@Tag("soak")
class OutageSoakTest {
  private static final int NAMES = 10;

  /** Documented: a TTL and two store timeouts, if sessions ended; and some more for ten at once. */
  private static final Duration FREE_WITHIN = Duration.ofSeconds(30 + 10 + 5);

  private static KitContainer server;

  private final String run = UUID.randomUUID().toString();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeAll
  static void start() {
    server = new KitContainer();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @AfterEach
  void end() {
    server.resume();
    threads.shutdownNow();
  }

  private static LockClient client(OkHttpClient users) {
    return ConsulLocks.builder(users, server.address()).build();
  }

  private static int inLine(String name) {
    try {
      return new TestHttp(server.address()).keys("holdfast/m/" + name + "/").size();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 75, 150})
  void everyNameIsFreeSoonAfterConsulAnswersAgain(int seconds) throws Exception {
    List<LockClient> clients = new ArrayList<>();
    List<Lease> leases = new ArrayList<>();
    List<Future<Lease>> turns = new ArrayList<>();
    try (LockClient other = client(new OkHttpClient())) {
      for (int i = 0; i < NAMES; i++) {
        String name = "outage-" + run + i;
        LockClient holder = client(new OkHttpClient());
        LockClient waiting = client(new OkHttpClient());
        clients.addAll(List.of(holder, waiting));
        leases.add(holder.get(name).lock());
        turns.add(threads.submit(() -> waiting.get(name).lock()));
        eventually("somebody waits", () -> inLine(name) == 2);
      }
      server.pause();
      TimeUnit.SECONDS.sleep(seconds);
      server.resume();
      long resumed = System.nanoTime();
      int held = 0;
      for (Lease lease : leases) {
        held += lease.isHeld() ? 1 : 0;
        try {
          lease.close();
        } catch (LockLostException e) {
          assertThat(lease.isHeld()).isFalse();
        }
      }
      for (Future<Lease> turn : turns) {
        assertThatExceptionOfType(ExecutionException.class)
            .isThrownBy(() -> turn.get(30, TimeUnit.SECONDS))
            .withCauseInstanceOf(LockStoreException.class);
      }
      List<Future<Duration>> free = new ArrayList<>();
      for (Lease lease : leases) {
        free.add(threads.submit(() -> freeAfter(other, lease.name(), resumed)));
      }
      Duration longest = Duration.ZERO;
      for (Future<Duration> one : free) {
        Duration after = one.get(3, TimeUnit.MINUTES);
        longest = after.compareTo(longest) > 0 ? after : longest;
      }
      System.out.printf(
          "outage: after %d s, %d of %d leases still held, the last name free after %d ms%n",
          seconds, held, NAMES, longest.toMillis());
      assertThat(longest).isLessThan(FREE_WITHIN);
    } finally {
      server.resume();
      clients.forEach(LockClient::close);
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
    try (LockClient other = client(new OkHttpClient())) {
      List<LockClient> clients = new ArrayList<>();
      for (int i = 0; i < NAMES; i++) {
        Script script = new Script();
        LockClient client =
            client(new OkHttpClient.Builder().addInterceptor(script).build());
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
      for (int i = 0; i < NAMES; i++) {
        other.get("late-" + run + i).tryLock().orElseThrow().close();
      }
      clients.forEach(LockClient::close);
    }
  }
}
