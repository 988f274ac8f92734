package io.holdfast.lock.consul;

import static io.holdfast.lock.consul.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.classic.ClassicKeys;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Locks that are shared with {@code consul lock} and with whoever locks a key by a session. */
@Tag("nightly")
class ClassicTest {
  private static final String PREFIX = "shop";

  private static KitContainer server;

  private final String name = "orders/" + UUID.randomUUID();
  private final String file = "ran-" + UUID.randomUUID();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final TestHttp http = new TestHttp(server.address());

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
    threads.shutdownNow();
  }

  private static LockClient client() {
    return ConsulLocks.classic(new OkHttpClient(), server.address())
        .prefix(PREFIX)
        .storeTimeout(Duration.ofSeconds(4))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(12)))
        .build();
  }

  private boolean exists(String path) {
    try {
      return server.run("test", "-e", path) == 0;
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs a command under the lock, with Consul's own program; its exit code. */
  private Future<Integer> consulLock(String command) {
    return threads.submit(() -> server.run("consul", "lock", PREFIX + "/" + name, command));
  }

  @Test
  void whatConsulLockHoldsIsBusyAndComesToTheWaiterAfterIt() throws Exception {
    Future<Integer> other =
        consulLock("touch " + file + "; while [ ! -e " + file + "-end ]; do sleep 0.1; done");
    eventually("consul lock holds", () -> exists(file));
    try (LockClient client = client()) {
      DistributedLock lock = client.get(name);
      assertThat(lock.tryLock()).isEmpty();
      long token = lock.inspect().orElseThrow().token();
      Future<Lease> turn = threads.submit(
          () -> client.get(name, LockOptions.renewed(Duration.ofSeconds(12))).lock());
      assertThat(lock.tryLock(Duration.ofMillis(500))).isEmpty();
      assertThat(turn.isDone()).isFalse();
      server.run("touch", file + "-end");
      Lease lease = turn.get(60, TimeUnit.SECONDS);
      assertThat(lease.token()).isGreaterThan(token);
      assertThat(other.get(60, TimeUnit.SECONDS)).isZero();
      lease.verify();
      threads.submit(lease::close).get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void consulLockWaitsForWhatWeHold() throws Exception {
    try (LockClient client = client()) {
      Lease lease = client.get(name).lock();
      List<String> before = http.sessions();
      Future<Integer> other = consulLock("touch " + file);
      eventually("consul lock has a session", () -> !before.containsAll(sessions()));
      TimeUnit.MILLISECONDS.sleep(500); // Never fails a lock that excludes.
      assertThat(exists(file)).isFalse();
      lease.verify();
      lease.close();
      assertThat(other.get(60, TimeUnit.SECONDS)).isZero();
      assertThat(exists(file)).isTrue();
    }
  }

  private List<String> sessions() {
    try {
      return http.sessions();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void whoLocksTheKeyByASessionOfItsOwnExcludesUsAndWeThem() throws Exception {
    String session = http.createSession();
    String key = "/v1/kv/" + PREFIX + "/" + name + "/.lock";
    try (LockClient client = client()) {
      try (Lease lease = client.get(name).lock()) {
        assertThat(http.put(key + "?acquire=" + session, "them").body()).isEqualTo("false");
        assertThat(lease.isHeld()).isTrue();
      }
      assertThat(http.put(key + "?acquire=" + session, "them").body()).isEqualTo("true");
      assertThat(client.get(name).tryLock()).isEmpty();
      assertThat(client.get(name).inspect().orElseThrow().description()).isEqualTo("them");
      http.put(key + "?release=" + session, "them");
      client.get(name).lock().close();
      assertThat(http.keys(PREFIX + "/" + name)).isEmpty();
    } finally {
      http.destroySession(session);
    }
  }

  @Test
  void tokensRiseThoughTheKeyIsDeletedEachTime() throws Exception {
    try (LockClient client = client();
        LockClient other = client()) {
      long last = 0;
      for (int i = 0; i < 5; i++) {
        for (LockClient next : List.of(client, other)) {
          try (Lease lease = next.get(name).lock()) {
            assertThat(lease.token()).isGreaterThan(last);
            last = lease.token();
          }
          assertThat(http.keys(PREFIX + "/" + name)).isEmpty();
        }
      }
    }
  }

  @Test
  void aKeyOfAnotherUseIsLeftAlone() throws Exception {
    String key = "/v1/kv/" + PREFIX + "/" + name + "/.lock";
    // As consul lock -n 2 has it.
    http.put(key + "?flags=16210313421097356768", "{}");
    try (LockClient client = client()) {
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get(name).tryLock())
          .withMessageContaining("used for something else");
    }
    assertThat(http.get(key + "?raw").body()).isEqualTo("{}");
  }

  @Test
  void aLeaseSaysHowLongACrashBlocksOthers() throws Exception {
    try (LockClient client = client();
        Lease lease = client.get(name).lock()) {
      assertThat(lease.crashBound()).isEqualTo(Duration.ofSeconds(2 * 15 + 15));
    }
  }

  @Test
  void afterTheEndOfASessionTheLockIsNobodysForTheDelayAndThenTheWaiters() throws Exception {
    try (LockClient holder = delayed();
        LockClient client = delayed()) {
      Lease lost = holder.get(name).lock();
      http.destroySession(http.sessionOf(ConsulGuard.of(lost).key()));
      assertThat(client.get(name).tryLock()).isEmpty();
      assertThat(client.get(name).inspect()).isEmpty();
      try (Lease next = client.get(name).lock()) {
        assertThat(next.token()).isGreaterThan(lost.token());
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lost::verify);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(lost::close);
        next.verify();
      }
    }
  }

  private static LockClient delayed() {
    return ConsulLocks.classic(new OkHttpClient(), server.address())
        .prefix(PREFIX)
        .lockDelay(Duration.ofSeconds(10))
        .build();
  }

  @Test
  void whoIsTakenFromByForceHearsOfItByTheNextRenewal() throws Exception {
    try (LockClient holder = client();
        LockClient client = client()) {
      Lease taken = holder.get(name).lock();
      assertThat(client.get(name).forceRelease(taken.token())).isTrue();
      try (Lease next = client.get(name).lock()) {
        assertThat(next.token()).isGreaterThan(taken.token());
        eventually("the holder hears of it", () -> taken.state() == LeaseState.LOST);
        next.verify();
      }
      assertThatExceptionOfType(LockLostException.class).isThrownBy(taken::close);
    }
  }

  @Test
  void aRequestThatIsSentTwiceGrantsOnce() throws Exception {
    Script script = new Script();
    OkHttpClient users = new OkHttpClient.Builder().addInterceptor(script).build();
    try (LockClient client =
        ConsulLocks.classic(users, server.address()).prefix(PREFIX).build()) {
      // The reading and the asking each.
      script.loseAnswers(1);
      script.next(1, Script.TRANSACTION, chain -> chain.proceed(chain.request()));
      script.loseAnswers(1);
      try (Lease lease = client.get(name).tryLock().orElseThrow()) {
        lease.verify();
        assertThat(lease.token())
            .isEqualTo(client.get(name).inspect().orElseThrow().token());
      }
      assertThat(http.keys(PREFIX + "/" + name)).isEmpty();
    }
  }

  @Test
  void namesAreReadableAndDifferent() {
    List<String> names = List.of(
        "a/b", "a%2Fb", "a//b", "/a", "a/", "a", ".", "..", "a/./b", "a/../b", "/", "//", "ä");
    assertThat(names.stream().map(ClassicKeys::escape)).doesNotHaveDuplicates();
    assertThat(ClassicKeys.escape("orders/42")).isEqualTo("orders/42");
    assertThat(names.stream().map(ClassicKeys::escape))
        .noneMatch(key -> ("/" + key + "/").matches(".*/(\\.{0,2})/.*"));
  }

  @Test
  void aLockDelayThatConsulRefusesIsRefused() {
    for (Duration delay : List.of(Duration.ofMillis(-1), Duration.ofSeconds(61))) {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> ConsulLocks.classic(new OkHttpClient(), server.address()).lockDelay(delay));
    }
  }
}
