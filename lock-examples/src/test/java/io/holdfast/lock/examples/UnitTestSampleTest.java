package io.holdfast.lock.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import org.junit.jupiter.api.Test;

/** A sample test of code that takes locks, without a server. */
class UnitTestSampleTest {

  /** The class under test: it takes the client that it locks with. */
  private static final class Reports {
    private final LockClient locks;
    private int made;

    Reports(LockClient locks) {
      this.locks = locks;
    }

    boolean make() {
      return locks.get("nightly-report").tryRun(lease -> made++);
    }
  }

  // tag::unit-test[]
  @Test
  void noReportIsMadeWhileAnotherMachineMakesIt() throws Exception {
    InMemoryServer server = new InMemoryServer();
    try (LockClient ours = InMemoryLocks.builder(server).build();
        LockClient theirs = InMemoryLocks.builder(server).build()) {
      Reports reports = new Reports(ours);
      try (Lease lease = theirs.get("nightly-report").lock()) {
        assertThat(reports.make()).isFalse();
        assertThat(lease.isHeld()).isTrue();
      }
      assertThat(reports.make()).isTrue();
    }
  }
  // end::unit-test[]
}
