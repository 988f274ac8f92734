package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The provider's promises beyond those that ShedLock's own tests check. */
class HoldfastLockProviderTest {
  private static final Duration LONG = Duration.ofMinutes(10);
  private static final Duration NONE = Duration.ZERO;

  /** A time too short to be a TTL, with the default store timeout. */
  private static final Duration SHORT = Duration.ofSeconds(2);

  private final InMemoryServer server = new InMemoryServer();
  private final LockClient client = InMemoryLocks.builder(server).build();
  private final LockClient other = InMemoryLocks.builder(server).build();
  private final HoldfastLockProvider provider = new HoldfastLockProvider(client);

  @AfterEach
  void close() {
    client.close();
    other.close();
  }

  @Test
  void aTaskHasTheLockOfItsNameForAsLongAsItMayTake() {
    SimpleLock lock = lock("report", LONG, NONE);

    assertThat(other.get("report").tryLock()).isEmpty();
    assertThat(left("report")).isBetween(LONG.minusMinutes(1), LONG);
    assertThat(provider.lock(configuration("report", LONG, NONE))).isEmpty();
    lock.unlock();
    assertThat(other.get("report").inspect()).isEmpty();
  }

  @Test
  void aTaskIsNotRunWhileSomebodyElseHasTheLock() {
    Lease lease = other.get("report").tryLock().orElseThrow();

    assertThat(provider.lock(configuration("report", LONG, NONE))).isEmpty();
    lease.close();
    lock("report", LONG, NONE).unlock();
  }

  @Test
  void theConfigurationsWallClockDoesNotMatter() {
    Instant longAgo = Instant.now().minus(Duration.ofDays(1));
    SimpleLock lock = provider
        .lock(new LockConfiguration(longAgo, "report", LONG, Duration.ofMinutes(5)))
        .orElseThrow();
    assertThat(left("report")).isGreaterThan(LONG.minusMinutes(1));
    lock.unlock();

    assertThat(left("report")).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
  }

  @Test
  void aTaskThatIsDoneEarlyKeepsItsNameTakenForTheLeastTime() {
    lock("report", LONG, Duration.ofMinutes(5)).unlock();

    assertThat(holder("report").isReleased()).isTrue();
    assertThat(left("report")).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
  }

  @Test
  void anExtensionCountsBothTimesFromNow() {
    SimpleLock lock = lock("report", Duration.ofMinutes(1), NONE);
    SimpleLock extended = extend(lock, LONG, Duration.ofMinutes(5));
    assertThat(left("report")).isBetween(LONG.minusMinutes(1), LONG);
    extended.unlock();

    assertThat(holder("report").isReleased()).isTrue();
    assertThat(left("report")).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
  }

  @Test
  void anExtensionShortensNeitherTime() {
    SimpleLock lock = lock("report", LONG, Duration.ofMinutes(5));
    SimpleLock extended = extend(lock, Duration.ofMinutes(1), NONE);
    assertThat(left("report")).isGreaterThan(LONG.minusMinutes(1));
    extended.unlock();

    assertThat(left("report")).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
  }

  @Test
  void aTimeTooShortForATtlEndsInThisProcessAndLaterOnlyIfItDies() {
    SimpleLock lock = lock("report", SHORT, NONE);
    assertThat(left("report"))
        .as("what the store would keep after a crash")
        .isBetween(Duration.ofSeconds(20), LockOptions.defaults().ttl());

    awaitFree("report");
    Lease next = other.get("report").tryLock().orElseThrow();
    assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    next.verify();
    next.close();
  }

  @Test
  void aShortTimeIsTheTtlIfTheClientAllowsIt() {
    try (LockClient quick =
        InMemoryLocks.builder(server).storeTimeout(Duration.ofSeconds(1)).build()) {
      SimpleLock lock = new HoldfastLockProvider(quick)
          .lock(configuration("report", Duration.ofSeconds(3), NONE))
          .orElseThrow();

      assertThat(left("report")).isLessThanOrEqualTo(Duration.ofSeconds(3));
      lock.unlock();
    }
  }

  @Test
  void aShortTimeThatIsOverDoesNotEndTheNextTask() throws InterruptedException {
    lock("report", SHORT, NONE).unlock();
    SimpleLock next = lock("report", LONG, NONE);
    // Nothing shows that the first one's end has passed and did nothing, but time.
    Thread.sleep(SHORT.plusSeconds(1).toMillis());

    assertThat(left("report")).isGreaterThan(LONG.minusMinutes(1));
    next.unlock();
  }

  @Test
  void aShortTimeCanBeExtendedToALongOneAndDoesNotEndBefore() throws InterruptedException {
    SimpleLock extended = extend(lock("report", SHORT, NONE), LONG, NONE);
    // Nothing shows that the short time's end has passed and did nothing, but time.
    Thread.sleep(SHORT.plusSeconds(1).toMillis());

    assertThat(left("report")).isGreaterThan(LONG.minusMinutes(1));
    extended.unlock();
    assertThat(other.get("report").inspect()).isEmpty();
  }

  @Test
  void aShortTimeCanBeExtendedByAShortTimeAndEndsThen() {
    long askedNanos = System.nanoTime();
    SimpleLock extended = extend(lock("report", SHORT, NONE), SHORT.multipliedBy(2), NONE);
    awaitFree("report");

    assertThat(Duration.ofNanos(System.nanoTime() - askedNanos))
        .isGreaterThanOrEqualTo(SHORT.multipliedBy(2));
    assertThat(extended.extend(LONG, NONE)).isEmpty();
  }

  @Test
  void aLeastTimeIsKeptAfterAShortTime() {
    SimpleLock lock = lock("report", Duration.ofSeconds(4), Duration.ofSeconds(4));
    lock.unlock();

    assertThat(holder("report").isReleased()).isTrue();
    assertThat(left("report")).isLessThanOrEqualTo(Duration.ofSeconds(4));
  }

  @Test
  void aTaskWhoseLockWasTakenAwayIsToldAtItsEndAndEndsNobodyElses() {
    SimpleLock lock = lock("report", LONG, NONE);
    assertThat(other.get("report").forceRelease(holder("report").token())).isTrue();
    Lease next = other.get("report").tryLock().orElseThrow();

    assertThatThrownBy(lock::unlock)
        .isInstanceOf(LockLostException.class)
        .hasMessageContaining("report");
    next.verify();
    next.close();
  }

  @Test
  void aLockThatWasTakenAwayIsNotExtended() {
    SimpleLock lock = lock("report", LONG, NONE);
    assertThat(other.get("report").forceRelease(holder("report").token())).isTrue();

    assertThat(lock.extend(LONG, NONE)).isEmpty();
    assertThat(other.get("report").inspect()).isEmpty();
  }

  @Test
  void timesThatMakeNoSenseAreRefusedWithTheNameAndTheValue() {
    assertRefused(configuration("report", NONE, NONE), "report", "zero");
    assertRefused(configuration("report", LONG, Duration.ofSeconds(-1)), "PT-1S");
    assertRefused(configuration("report", Duration.ofDays(400), NONE), "PT9600H");
    assertRefused(configuration("a\nb", SHORT, NONE), "control character");
    assertThat(other.list("", 10)).isEmpty();
  }

  @Test
  void anExtensionThatMakesNoSenseIsRefusedAndTheLockStays() {
    SimpleLock lock = lock("report", LONG, NONE);
    assertThatThrownBy(() -> lock.extend(NONE, NONE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("zero");
    assertThatThrownBy(() -> lock.extend(Duration.ofDays(400), NONE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("PT9600H");

    assertThat(left("report")).isGreaterThan(LONG.minusMinutes(1));
    lock.unlock();
  }

  @Test
  void aClosedClientIsNoTakenLock() {
    client.close();

    assertThatThrownBy(() -> provider.lock(configuration("report", LONG, NONE)))
        .isInstanceOf(LockClientClosedException.class);
  }

  @Test
  void aStoreThatFailsIsNoTakenLock() throws SQLException {
    HikariDataSource pool = TestStore.h2Pool("failing");
    try (LockClient locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
      HoldfastLockProvider onSql = new HoldfastLockProvider(locks);
      SimpleLock held = onSql.lock(configuration("held", LONG, NONE)).orElseThrow();
      // Neither is closed: that fails once the database is gone.
      Connection connection = pool.getConnection();
      connection.createStatement().execute("SHUTDOWN");
      pool.close();

      assertThatThrownBy(() -> onSql.lock(configuration("report", LONG, NONE)))
          .isInstanceOf(LockStoreException.class);
      assertThatThrownBy(() -> held.extend(LONG, NONE)).isInstanceOf(LockStoreException.class);
      held.unlock();
    }
  }

  private SimpleLock lock(String name, Duration atMost, Duration atLeast) {
    return provider.lock(configuration(name, atMost, atLeast)).orElseThrow();
  }

  private static SimpleLock extend(SimpleLock lock, Duration atMost, Duration atLeast) {
    Optional<SimpleLock> extended = lock.extend(atMost, atLeast);
    return extended.orElseThrow();
  }

  private static LockConfiguration configuration(String name, Duration atMost, Duration atLeast) {
    return new LockConfiguration(Instant.now(), name, atMost, atLeast);
  }

  private LockHolder holder(String name) {
    return other.get(name).inspect().orElseThrow();
  }

  private Duration left(String name) {
    return holder(name).remaining();
  }

  private void awaitFree(String name) {
    Await.until(name + " is free", () -> other.get(name).inspect().isEmpty());
  }

  private void assertRefused(LockConfiguration configuration, String... named) {
    assertThatThrownBy(() -> provider.lock(configuration))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(named);
  }
}
