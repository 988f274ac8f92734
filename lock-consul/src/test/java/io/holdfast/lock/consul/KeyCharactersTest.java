package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Response;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The characters of keys: whatever the name of a lock, no key has one that a newer Consul or a
 * proxy refuses.
 */
class KeyCharactersTest {
  private static final List<String> NAMES = List.of(
      "orders",
      "orders 42",
      "orders:42",
      "a%20b",
      "a/b//c",
      "..",
      "a..b/.",
      "ä\u2603",
      "-_20",
      "?a=b&c");

  private static ServerContainer server;

  private final RefusesOthers refuses = new RefusesOthers();

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  /**
   * A server that refuses characters in {@code /v1/kv}, as Consul 1.21.5 does: all but those that
   * the page names.
   */
  private static final class RefusesOthers implements Interceptor {
    private static final Pattern PLAIN = Pattern.compile("/v1/kv/[A-Za-z0-9_./-]*");

    final List<String> refused = new CopyOnWriteArrayList<>();

    @Override
    public Response intercept(Chain chain) throws IOException {
      String path = chain.request().url().encodedPath();
      boolean plain = PLAIN.matcher(path).matches() && !path.contains("..");
      if (!path.startsWith("/v1/kv/") || plain) {
        return chain.proceed(chain.request());
      }
      refused.add(path);
      return Script.answer(chain, 500, 0, "invalid key name");
    }
  }

  private LockClient client() {
    OkHttpClient users = new OkHttpClient.Builder().addInterceptor(refuses).build();
    return ConsulLocks.builder(users, ConsulServer.address(server)).build();
  }

  @Test
  void everyNameIsLockedWaitedForListedAndFreed() throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (LockClient holder = client();
        LockClient waiting = client()) {
      for (String name : NAMES) {
        DistributedLock lock = holder.get(name);
        Lease lease = lock.lock();
        Future<Long> turn = thread.submit(() -> waiting.get(name).call(Lease::token));
        Await.until("it waits", () -> !waiting.get(name).inspect().isEmpty());
        assertThat(holder.list(name, 10)).anyMatch(held -> held.name().equals(name));
        lease.close();
        assertThat(turn.get(30, TimeUnit.SECONDS)).as(name).isGreaterThan(lease.token());
        Lease taken = lock.lock();
        assertThat(waiting.get(name).forceRelease(taken.token())).isTrue();
      }
      assertThat(refuses.refused).isEmpty();
      for (String key : new TestHttp(ConsulServer.address(server)).keys("holdfast/m/")) {
        assertThat(key).matches("[A-Za-z0-9_./-]+").doesNotContain("..");
      }
    } finally {
      thread.shutdownNow();
    }
  }
}
