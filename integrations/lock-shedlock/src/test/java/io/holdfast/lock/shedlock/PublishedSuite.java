package io.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The tests that ShedLock publishes for providers, as they are, on one store. */
abstract class PublishedSuite extends AbstractExtensibleLockProviderIntegrationTest {
  /**
   * What an unlock, and a lock that ends by itself, may take. Every lock of the suite that would
   * hide a missing unlock lasts for longer: the TTL of one that is short is 30 s at the store.
   */
  private static final Duration UNLOCKING_MAX = Duration.ofSeconds(8);

  abstract TestStore store();

  @Override
  protected ExtensibleLockProvider getLockProvider() {
    return new HoldfastLockProvider(store().client());
  }

  @Override
  protected void assertUnlocked(String lockName) {
    Await.within(UNLOCKING_MAX, lockName + " is free", () -> !store().isTaken(lockName));
  }

  @Override
  protected void assertLocked(String lockName) {
    assertThat(store().isTaken(lockName)).as("the store shows a holder").isTrue();
  }

  /** One store at a time: each has eight threads that ask without a pause. */
  @Test
  @ResourceLock("processors")
  @Override
  public void fuzzTestShouldPass() throws ExecutionException, InterruptedException {
    super.fuzzTestShouldPass();
  }
}
