package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** The tests that ShedLock publishes for providers, as they are, on one store. */
abstract class PublishedSuite extends AbstractExtensibleLockProviderIntegrationTest {
  /**
   * The longest time that an unlock, and a lock that ends by itself, may take. Every lock of the
   * suite that would hide a missing unlock lasts for longer: the TTL of one that is short is 30 s
   * at the store.
   */
  private static final Duration UNLOCKING_MAX = Duration.ofSeconds(8);

  /** Limits the fuzz tests at a time: each has eight threads that ask without a pause. */
  private static final Semaphore FUZZ_TESTS = new Semaphore(2);

  private static final Map<Class<?>, TestStore> STORES = new ConcurrentHashMap<>();

  private TestStore store;

  /** Opens the store, once for the class. */
  abstract TestStore open();

  @BeforeEach
  void start() {
    store = STORES.computeIfAbsent(getClass(), suite -> open());
  }

  @AfterAll
  static void stop(TestInfo suite) {
    TestStore opened = STORES.remove(suite.getTestClass().orElseThrow());
    if (opened != null) {
      opened.close();
    }
  }

  @Override
  protected ExtensibleLockProvider getLockProvider() {
    return new HoldfastLockProvider(store.client());
  }

  @Override
  protected void assertUnlocked(String lockName) {
    Await.until(lockName + " is free", UNLOCKING_MAX, () -> !store.isTaken(lockName));
  }

  @Override
  protected void assertLocked(String lockName) {
    assertThat(store.isTaken(lockName)).as("the store shows a holder").isTrue();
  }

  @Test
  @Timeout(180)
  @Override
  public void fuzzTestShouldPass() throws ExecutionException, InterruptedException {
    FUZZ_TESTS.acquire();
    try {
      super.fuzzTestShouldPass();
    } finally {
      FUZZ_TESTS.release();
    }
  }
}
