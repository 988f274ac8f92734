package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FirstLightTest {
  private final InMemoryServer server = new InMemoryServer();

  @Test
  void aSecondClientIsRefusedUntilTheFirstLetsGo() {
    try (LockClient a = InMemoryLocks.builder(server).build();
        LockClient b = InMemoryLocks.builder(server).build()) {
      long first;
      try (Lease lease = a.get("x").tryLock().orElseThrow()) {
        first = lease.token();
        assertThat(lease.isHeld()).isTrue();
        assertThat(b.get("x").tryLock()).isEmpty();
        assertThat(b.get("x").inspect()).isPresent();
        try (Lease nested = a.get("x").tryLock().orElseThrow()) {
          assertThat(nested.token()).isEqualTo(first);
        }
        assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      }
      Optional<Lease> second = b.get("x").tryLock();
      assertThat(second).isPresent();
      assertThat(second.get().token()).isGreaterThan(first);
      second.get().close();
      assertThat(second.get().state()).isEqualTo(LeaseState.RELEASED);
    }
  }

  @Test
  void threadsOfTwoClientsExcludeEachOther() throws Exception {
    int[] counter = {0};
    List<Long> tokens = new ArrayList<>();
    ExecutorService pool = Executors.newCachedThreadPool();
    try (LockClient a = InMemoryLocks.builder(server).build();
        LockClient b = InMemoryLocks.builder(server).build()) {
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        LockClient client = t % 2 == 0 ? a : b;
        all.add(pool.submit(() -> {
          for (int i = 0; i < 2000; i++) {
            client.get("count").run(lease -> {
              counter[0]++;
              tokens.add(lease.token());
            });
          }
          return null;
        }));
      }
      for (Future<?> one : all) {
        one.get(60, TimeUnit.SECONDS);
      }
      assertThat(counter[0]).isEqualTo(16_000);
      assertThat(tokens).isSorted().doesNotHaveDuplicates();
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void anExpiredFixedLeaseIsLostAndItsCloseSaysSo() throws Exception {
    try (LockClient a =
            InMemoryLocks.builder(server).storeTimeout(Duration.ofMillis(100)).build();
        LockClient b = InMemoryLocks.builder(server).build()) {
      Lease lease = a.get("y", LockOptions.fixed(Duration.ofMillis(300))).lock();
      Lease next = b.get("y").lockWithin(Duration.ofSeconds(10));
      assertThat(lease.isHeld()).isFalse();
      assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
      assertThat(next.isHeld()).isTrue();
      next.close();
    }
  }
}
