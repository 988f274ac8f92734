package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * An attempt that a client gave up during an outage: it blocks its name only until Consul answers
 * again, though the session of the client lives on.
 */
class AbandonedTest {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);
  private static final LockOptions OPTIONS = LockOptions.renewed(Duration.ofSeconds(3));

  /** The length of an outage: longer than the engine goes on withdrawing claims. */
  private static final Duration OUTAGE = Duration.ofSeconds(9);

  private static ServerContainer server;

  private final String name = "abandoned-" + UUID.randomUUID();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final FaultProxy link = FaultProxy.open(server.host(), server.port());

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @AfterEach
  void end() {
    link.close();
    threads.shutdownNow();
  }

  private LockClient client(String address) {
    return ConsulLocks.builder(new OkHttpClient(), address)
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(OPTIONS)
        .build();
  }

  /** Returns a client with a store timeout that suits a busy machine. */
  private LockClient patientClient() {
    return ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
        .storeTimeout(STORE_TIMEOUT.multipliedBy(5))
        .build();
  }

  /**
   * Locks, again and again if a request took longer than the store timeout, as the first of a JVM
   * may.
   */
  private static Lease lock(LockClient client, String name) {
    Lease[] lease = new Lease[1];
    Await.until(name + " is locked", () -> {
      try {
        lease[0] = client.get(name).lock();
        return true;
      } catch (LockStoreException e) {
        return false;
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    return lease[0];
  }

  private static void pass(Duration duration) {
    long began = System.nanoTime();
    Await.until(duration + " are over", () -> System.nanoTime() - began > duration.toNanos());
  }

  @Test
  void afterAnOutageLongerThanTheTtlTheNameIsFree() throws Exception {
    String address = "http://" + link.host() + ":" + link.port();
    try (LockClient holder = client(address);
        LockClient waiting = client(address);
        LockClient other = patientClient()) {
      // The session of this client is there before the outage, and lives on after it.
      Lease kept = lock(waiting, "kept-" + name);
      Lease lease = lock(holder, name);
      Future<Lease> turn = threads.submit(() -> waiting.get(name).lock());
      Await.until("somebody waits", () -> isInLine());
      link.refuse();
      assertThatExceptionOfType(java.util.concurrent.ExecutionException.class)
          .isThrownBy(() -> turn.get(30, TimeUnit.SECONDS))
          .withCauseInstanceOf(LockStoreException.class);
      pass(OUTAGE);
      assertThat(lease.isHeld()).isFalse();
      link.heal();
      long healed = System.nanoTime();
      Lease next = other.get(name).tryLock(Duration.ofSeconds(20)).orElseThrow();
      // Documented: two store timeouts and two seconds. More on a busy machine.
      assertThat(Duration.ofNanos(System.nanoTime() - healed)).isLessThan(Duration.ofSeconds(15));
      next.close();
      assertThat(kept.isHeld()).isFalse();
    }
  }

  private boolean isInLine() {
    try {
      return new TestHttp(ConsulServer.address(server))
              .keys("holdfast/m/" + name + "/")
              .size()
          == 2;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
