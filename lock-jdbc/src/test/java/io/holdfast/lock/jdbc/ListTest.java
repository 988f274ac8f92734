package io.holdfast.lock.jdbc;

import static io.holdfast.lock.jdbc.Stores.endMicros;
import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static io.holdfast.lock.testsupport.Claims.key;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.testsupport.Claims;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.IntStream;

/** The list of held locks for an administrator: which, by whom, and since when. */
class ListTest {
  private static final int MANY = 1_000;

  @EachServer
  void aPrefixIsComparedCharacterByCharacter(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      String run = "run" + UUID.randomUUID() + "/";
      List<String> names = List.of(
          run,
          run + "a",
          run + "a%b",
          run + "a_b",
          run + "axb",
          run + "A%b",
          run + "a ",
          run + "a\\b",
          run + "\u00e4",
          run + "a\u0308",
          run + "\ud7ff",
          run + "\ud7ffa",
          run + "\ue000",
          run + "\ud83d\udd12",
          run + "\udbff\udfff",
          run + "\udbff\udfffz");
      for (String name : names) {
        assertThat(store.tryAcquire(claim(key(name)))).isPresent();
      }
      String above = run.substring(0, run.length() - 1) + "0";
      assertThat(store.tryAcquire(claim(key(above)))).isPresent();
      assertThat(store.tryAcquire(claim(key(run.toUpperCase(Locale.ROOT))))).isPresent();

      for (String name : names) {
        assertThat(names(store, name))
            .as("prefix %s", name)
            .containsExactlyInAnyOrderElementsOf(
                names.stream().filter(n -> n.startsWith(name)).toList());
      }
      assertThat(names(store, run + "b")).isEmpty();
      assertThat(names(store, run + "%")).isEmpty();
      assertThat(names(store, run.substring(0, run.length() - 1)))
          .hasSize(names.size() + 1)
          .contains(above);
      assertThat(names(store, "")).containsAll(names).doesNotHaveDuplicates();
    }
  }

  @EachServer
  void onlyWhatIsTakenIsListedAndAMinimumHoldCounts(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      String run = UUID.randomUUID() + "/";
      Grant held = store.tryAcquire(claim(key(run + "held"))).orElseThrow();
      Grant expired = store.tryAcquire(claim(key(run + "expired"))).orElseThrow();
      Stores.expire(server, expired);
      Grant freed = store.tryAcquire(claim(key(run + "freed"))).orElseThrow();
      assertThat(store.release(freed, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant kept = store.tryAcquire(claim(key(run + "kept"))).orElseThrow();
      assertThat(store.release(kept, Duration.ofMinutes(1))).isEqualTo(ReleaseOutcome.RELEASED);

      List<StoredLock> listed = list(store, run, MANY);

      assertThat(listed)
          .extracting(StoredLock::key)
          .containsExactlyInAnyOrder(held.claim().key(), kept.claim().key());
      for (StoredLock lock : listed) {
        boolean isKept = lock.key().equals(kept.claim().key());
        StoredHolder holder = lock.holder();
        assertThat(lock.waiting()).hasValue(0);
        assertThat(holder.released()).isEqualTo(isKept);
        assertThat(holder.number()).isEqualTo((isKept ? kept : held).number());
        assertThat(holder.description()).isEqualTo("test of the store");
        assertThat(holder.remaining()).isBetween(Duration.ofSeconds(10), Duration.ofMinutes(1));
        assertThat(holder.since())
            .isEqualTo(store.inspect(lock.key()).orElseThrow().since());
      }
    }
  }

  /** More names than one statement looks at. */
  @EachServer
  void heldLocksAreFoundAmongManyThatAreFree(Server server) throws Exception {
    int rows = 25_000;
    int every = 2_500;
    String table = "many_" + UUID.randomUUID().toString().substring(0, 8);
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(pool, table, SchemaMode.CREATE, false, null),
            Duration.ofSeconds(20));
        Connection connection = server.connect()) {
      insert(connection, server, table, rows, every);
      List<String> held = IntStream.range(0, rows)
          .filter(i -> i % every == 0)
          .mapToObj(ListTest::numbered)
          .toList();
      assertThat(names(store, "")).containsExactlyInAnyOrderElementsOf(held);
      assertThat(names(store, "n/")).containsExactlyInAnyOrderElementsOf(held);
      assertThat(list(store, "n/", 7)).hasSize(7).doesNotHaveDuplicates();
      assertThat(names(store, numbered(20_000))).containsExactly(numbered(20_000));
      try (Statement statement = connection.createStatement()) {
        statement.execute("DROP TABLE " + table);
        statement.execute("DROP TABLE " + table + "_waiter");
      }
    }
  }

  private static String numbered(int i) {
    return String.format(Locale.ROOT, "n/%06d", i);
  }

  /** Rows of which every so many is taken until the year 2100. */
  private static void insert(
      Connection connection, Server server, String table, int rows, int every) throws SQLException {
    int batch = 1_000;
    for (int from = 0; from < rows; from += batch) {
      StringBuilder sql = new StringBuilder(
          "INSERT INTO " + table
              + " (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES");
      for (int i = from; i < from + batch; i++) {
        String stored = Keys.of(key(numbered(i)));
        String literal = server == Server.POSTGRES
            ? "'" + stored + "'"
            : "X'" + HexFormat.of().formatHex(stored.getBytes(StandardCharsets.UTF_8)) + "'";
        long expiresAt = i % every == 0 ? Instant.parse("2100-01-01T00:00:00Z").toEpochMilli() : 0;
        sql.append(i == from ? " (" : ", (")
            .append(literal)
            .append(", 'a', 1, 1, ")
            .append(expiresAt * 1_000)
            .append(", 0, 0, 0, 'made up')");
      }
      try (Statement statement = connection.createStatement()) {
        assertThat(statement.executeUpdate(sql.toString())).isEqualTo(batch);
      }
    }
  }

  /** The end of a new lease is the time of its grant and the TTL, so the grant's time is known. */
  @EachServer
  void aHolderIsShownWithTheTimeOfItsGrantWhateverCameAfter(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      Grant first = store.tryAcquire(claim(key)).orElseThrow();
      Instant granted = grantedAt(server, first);
      assertThat(granted)
          .isBetween(Instant.now().minusSeconds(60), Instant.now().plusSeconds(60));
      assertThat(since(store, key)).isEqualTo(granted);

      assertThat(store.renew(List.of(first))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.extend(first, Duration.ofMinutes(5))).isPresent();
      assertThat(since(store, key)).isEqualTo(granted);

      assertThat(store.release(first, Duration.ofMinutes(5))).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(since(store, key)).isEqualTo(granted);

      assertThat(store.forceRelease(key, first.number())).isTrue();
      Grant second = store.tryAcquire(claim(key)).orElseThrow();
      assertThat(since(store, key)).isEqualTo(grantedAt(server, second)).isAfter(granted);
    }
  }

  private static Instant grantedAt(Server server, Grant grant) throws SQLException {
    return Instant.EPOCH
        .plus(Keys.duration(endMicros(server, grant)))
        .minus(grant.claim().ttl());
  }

  private static Instant since(JdbcStore store, LockKey key) throws StoreException {
    return store.inspect(key).orElseThrow().since();
  }

  private static List<String> names(JdbcStore store, String prefix) throws StoreException {
    return list(store, prefix, 10 * MANY).stream()
        .map(lock -> lock.key().name())
        .toList();
  }

  private static List<StoredLock> list(JdbcStore store, String prefix, int limit)
      throws StoreException {
    return store.list(LockKind.MUTEX, prefix, limit);
  }
}
