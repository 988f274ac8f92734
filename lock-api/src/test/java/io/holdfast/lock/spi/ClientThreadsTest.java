package io.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ClientThreadsTest {
  private static final InheritableThreadLocal<String> TENANT = new InheritableThreadLocal<>();

  private final ClientThreads threads = new ClientThreads("c1");

  @Test
  void aThreadIsADaemonWithTheNameOfItsWorkAndItsClient() {
    Thread only = threads.only("poller", () -> {});
    assertThat(only.getName()).isEqualTo("holdfast-poller-c1");
    assertThat(only.isDaemon()).isTrue();
    var several = threads.named("borrower");
    assertThat(several.newThread(() -> {}).getName()).isEqualTo("holdfast-borrower-c1-1");
    assertThat(several.newThread(() -> {}).getName()).isEqualTo("holdfast-borrower-c1-2");
  }

  @Test
  void aThreadInheritsNothingOfTheOneThatCausedItsStart() throws Exception {
    AtomicReference<String> seen = new AtomicReference<>();
    ClassLoader builders = Thread.currentThread().getContextClassLoader();
    TENANT.set("a");
    Thread.currentThread().setContextClassLoader(null);
    try {
      Thread thread = threads.only("poller", () -> seen.set(String.valueOf(TENANT.get())));
      assertThat(thread.getContextClassLoader()).isSameAs(builders);
      thread.start();
      thread.join(TimeUnit.SECONDS.toMillis(30));
      assertThat(seen).hasValue("null");
    } finally {
      Thread.currentThread().setContextClassLoader(builders);
      TENANT.remove();
    }
  }

  @Test
  void aPoolHasAsManyThreadsAsItIsAllowedAndTheRestWaits() throws Exception {
    ThreadPoolExecutor pool = threads.pool("work", 2);
    CompletableFuture<Void> gate = new CompletableFuture<>();
    try {
      for (int i = 0; i < 3; i++) {
        pool.execute(gate::join);
      }
      assertThat(pool.getPoolSize()).isEqualTo(2);
      assertThat(pool.getQueue()).hasSize(1);
    } finally {
      gate.complete(null);
      pool.shutdown();
    }
    assertThat(pool.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }
}
