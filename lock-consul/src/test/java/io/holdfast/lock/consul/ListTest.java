package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.HeldLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.UUID;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The list of held locks, and what it tells of their holders. */
class ListTest {
  private static final int MANY = 10_000;

  private static ServerContainer server;

  private final String prefix = "list-" + UUID.randomUUID();
  private final Requests requests = new Requests();
  private final TestHttp http = new TestHttp(ConsulServer.address(server));

  @BeforeAll
  static void start() {
    server = ConsulServer.start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private LockClient client() {
    OkHttpClient users = new OkHttpClient.Builder().addInterceptor(requests).build();
    return ConsulLocks.builder(users, ConsulServer.address(server))
        .prefix(prefix)
        .storeTimeout(Duration.ofSeconds(5))
        .build();
  }

  private LockStore open() throws Exception {
    return PlainStore.open(ConsulServer.address(server), prefix);
  }

  private static List<String> names(LockClient client, String namePrefix) {
    return client.list(namePrefix, MANY).stream().map(HeldLock::name).toList();
  }

  private static HeldLock single(LockClient client) {
    List<HeldLock> held = client.list("", MANY);
    assertThat(held).hasSize(1);
    return held.get(0);
  }

  @Test
  void aPrefixIsComparedCharacterByCharacter() throws Exception {
    List<String> names = List.of(
        "a",
        "A",
        "a/b",
        "a//b",
        "a%2Fb",
        "a b",
        "a+b",
        "a.",
        "a..",
        "a/.",
        "a/..",
        "a/./b",
        "a/b/",
        ".",
        "..",
        ".b",
        "/",
        "//",
        "/a",
        "*",
        "ä",
        "a\u0308",
        "\u2603",
        "\ud83d\ude00",
        "\ud83d\ude01",
        "x/.lock",
        "x/.lock/y",
        "orders/42",
        "orders/43",
        "-",
        "-_",
        "-_20",
        "job-",
        "job-1",
        "job/1",
        "job-/1",
        "%",
        "_",
        "[",
        "\\");
    TreeSet<String> prefixes = new TreeSet<>(List.of("", "none"));
    try (LockClient client = client()) {
      List<Lease> leases = new ArrayList<>();
      for (String name : names) {
        leases.add(client.get(name).lock());
        name.codePoints()
            .forEach(last -> prefixes.add(name.substring(
                0, name.indexOf(Character.toString(last)) + Character.charCount(last))));
        prefixes.add(name);
      }
      for (String some : prefixes) {
        assertThat(names(client, some))
            .as("names that begin with '%s'", some)
            .containsExactlyInAnyOrderElementsOf(
                names.stream().filter(name -> name.startsWith(some)).toList());
      }
      assertThat(leases).allMatch(Lease::isHeld);
    }
  }

  @Test
  void noMoreAreToldThanWereAskedForAndInFewRequests() throws Exception {
    try (LockClient client = client()) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 150; i++) {
        // The TTL is so long that no renewal reads the keys meanwhile.
        leases.add(
            client.get("many-" + i, LockOptions.renewed(Duration.ofMinutes(5))).lock());
      }
      requests.forget();
      assertThat(names(client, "many-")).hasSize(150).doesNotHaveDuplicates();
      assertThat(requests.count("/v1/txn")).isLessThan(20);
      assertThat(client.list("", 100).stream().map(HeldLock::name))
          .hasSize(100)
          .doesNotHaveDuplicates();
      assertThat(client.list("many-", 1)).hasSize(1);
      assertThat(leases).allMatch(Lease::isHeld);
    }
  }

  @Test
  void aListedLockIsToldOfAsByInspecting() throws Exception {
    try (LockClient client = client();
        Lease lease = client.get("told").lock()) {
      HeldLock held = single(client);
      LockHolder holder = client.get("told").inspect().orElseThrow();
      assertThat(held.token()).isEqualTo(lease.token()).isEqualTo(holder.token());
      assertThat(held.description()).isEqualTo(holder.description());
      assertThat(held.since()).isEqualTo(holder.since());
      assertThat(held.remaining()).isEqualTo(holder.remaining());
      assertThat(held.isReleased()).isFalse();
    }
  }

  @Test
  void whoWaitsIsCounted() throws Exception {
    try (LockStore holder = open();
        LockStore waiting = open()) {
      Grant grant = holder.tryAcquire(OpenStore.claim("line")).orElseThrow();
      List<Ticket> tickets = new ArrayList<>();
      for (int before = 0; before < 3; before++) {
        assertThat(holder.list(LockKind.MUTEX, "line", MANY))
            .extracting(StoredLock::waiting)
            .containsExactly(OptionalInt.of(before));
        tickets.add(queue(waiting, "line"));
      }
      assertThat(holder.list(LockKind.MUTEX, "", MANY))
          .extracting(lock -> lock.holder().number())
          .containsExactly(grant.number());
      for (Ticket ticket : tickets) {
        ticket.close();
      }
      assertThat(holder.list(LockKind.MUTEX, "line", MANY))
          .extracting(StoredLock::waiting)
          .containsExactly(OptionalInt.of(0));
    }
  }

  private static Ticket queue(LockStore store, String name) throws Exception {
    return ((Acquisition.Queued) store.acquireOrQueue(OpenStore.claim(name), () -> {})).ticket();
  }

  @Test
  void keysOfOthersAreNoLocks() throws Exception {
    String session = http.createSession();
    try (LockClient client = client()) {
      for (String key : List.of("m:plain", "m:a%20b/x", "m:%2541/x", "m:/x", "x:lock/x")) {
        assertThat(http.put(key(key) + "?acquire=" + session, "").body()).isEqualTo("true");
      }
      assertThat(http.put(key("m:free/x"), "").body()).isEqualTo("true");
      assertThat(client.list("", MANY)).isEmpty();
    } finally {
      http.destroySession(session);
    }
  }

  private String key(String below) {
    return "/v1/kv/" + prefix + "/" + below;
  }

  @Test
  void aHolderIsToldToHoldSinceItAskedUntilItsMinimumHoldIsOver() throws Exception {
    try (LockClient client = client()) {
      // Marks have times to the millisecond.
      Instant before = Instant.now().truncatedTo(ChronoUnit.MILLIS);
      Lease lease = client
          .get("since", LockOptions.defaults().withMinHold(Duration.ofSeconds(20)))
          .lock();
      Instant after = Instant.now();
      Instant since = single(client).since();
      assertThat(since).isBetween(before, after);
      lease.close();
      assertThat(single(client).isReleased()).isTrue();
      assertThat(single(client).since()).isEqualTo(since);
    }
  }

  @Test
  void aServerThatDoesNotAnswerIsAnErrorAndNotAnEmptyList() {
    try (LockClient client = client()) {
      server.pause();
      try {
        long began = System.nanoTime();
        assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> names(client, ""));
        assertThat(Duration.ofNanos(System.nanoTime() - began))
            .isBetween(Duration.ofSeconds(4), Duration.ofSeconds(20));
      } finally {
        server.resume();
      }
    }
  }
}
