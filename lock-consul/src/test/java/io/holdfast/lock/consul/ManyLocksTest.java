package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Ten thousand locks of one client, and what they cost while they are held. */
@Tag("soak")
class ManyLocksTest {
  private static final int LOCKS = 10_000;
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final int PERIODS = 6;

  /** The number of renewal groups, of 2,048 locks at most. */
  private static final int GROUPS = 5;

  /** The number of leases that the close of the client ends, each with a warning in the log. */
  private static final int CLOSED_AT_ONCE = 2_000;

  private static ServerContainer server;

  private final Requests requests = new Requests();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @Test
  void tenThousandHeldLocksAreRenewedAndLookedAtInFewRequests() throws Exception {
    OkHttpClient users = new OkHttpClient.Builder().addInterceptor(requests).build();
    long closing;
    try (LockClient client = ConsulLocks.builder(users, ConsulServer.address(server))
        .clientName("many")
        .defaultOptions(LockOptions.renewed(TTL))
        .build()) {
      List<Lease> leases = new ArrayList<>();
      AtomicInteger losses = new AtomicInteger();
      long begin = System.nanoTime();
      for (int i = 0; i < LOCKS; i++) {
        Lease lease = client.get("many/" + i).lock();
        lease.onLost(loss -> {
          if (loss.reason() == LeaseLoss.Reason.TAKEN) {
            losses.incrementAndGet();
          }
        });
        leases.add(lease);
      }
      report("acquired", begin);
      assertThat(requests.count("/v1/session/create")).isEqualTo(1);
      // After a while, leases that began at different times are renewed together.
      TimeUnit.NANOSECONDS.sleep(2 * TTL.toNanos());
      report("in one round", begin);
      requests.forget();
      begin = System.nanoTime();
      TimeUnit.NANOSECONDS.sleep(PERIODS * TTL.toNanos() / 3);
      report("held", begin);
      // Jitter renews earlier rather than later.
      assertThat(requests.count("/v1/session/renew/"))
          .isBetween(GROUPS * (PERIODS - 1L), GROUPS * (PERIODS + 2L));
      // The keys are read 64 at a time.
      assertThat(requests.count("/v1/txn"))
          .isLessThanOrEqualTo((PERIODS + 2) * (LOCKS / 64 + 2L * GROUPS));
      assertThat(leases).allMatch(Lease::isHeld);

      begin = System.nanoTime();
      Lease taken = leases.remove(LOCKS / 2);
      assertThat(client.get("many/" + LOCKS / 2).forceRelease(taken.token())).isTrue();
      Await.until("its holder is told", () -> losses.get() == 1);
      report("one taken by force, and told", begin);
      assertThat(leases).allMatch(Lease::isHeld);

      begin = System.nanoTime();
      for (Lease lease : leases.subList(CLOSED_AT_ONCE, leases.size())) {
        lease.close();
      }
      report("all but some released", begin);
      closing = System.nanoTime();
    }
    report("closed with the others", closing);
    assertThat(new TestHttp(ConsulServer.address(server)).keys("holdfast")).isEmpty();
  }

  private void report(String what, long begin) {
    Runtime runtime = Runtime.getRuntime();
    System.gc();
    System.out.printf(
        "many: %s in %d ms; %d requests, %d threads of ours, heap %d MB%n",
        what,
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin),
        requests.paths().size(),
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().matches("holdfast-.*many.*"))
            .count(),
        (runtime.totalMemory() - runtime.freeMemory()) >> 20);
  }
}
