package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On the real clocks. */
class ManyThreadsTest {
  private final InMemoryServer server = new InMemoryServer();

  @Test
  @Timeout(120)
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
          for (int i = 0; i < 2_000; i++) {
            client.get("count").run(lease -> {
              counter[0]++;
              tokens.add(lease.token());
            });
          }
          return null;
        }));
      }
      for (Future<?> one : all) {
        one.get(100, TimeUnit.SECONDS);
      }
      assertThat(counter[0]).isEqualTo(16_000);
      assertThat(tokens).as("Unsafe: tokens").isSorted().doesNotHaveDuplicates();
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  @Timeout(120)
  void tenThousandVirtualThreadsWaitForAFewLocks() throws Exception {
    assumeTrue(Runtime.version().feature() >= 21, "there are no virtual threads before JDK 21");
    int[] counters = new int[5];
    List<Long> tokens = Collections.synchronizedList(new ArrayList<>());
    ExecutorService threads = (ExecutorService)
        Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    try (LockClient client = InMemoryLocks.builder(server).build()) {
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < 10_000; t++) {
        int number = t % counters.length;
        all.add(threads.submit(() -> {
          client.get("count" + number).run(lease -> {
            counters[number]++;
            tokens.add(lease.token());
          });
          return null;
        }));
      }
      for (Future<?> one : all) {
        one.get(100, TimeUnit.SECONDS);
      }
      assertThat(counters).containsOnly(2_000);
      assertThat(tokens).hasSize(10_000);
    } finally {
      threads.shutdownNow();
    }
  }
}
