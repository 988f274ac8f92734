package io.holdfast.lock.tck;

import io.holdfast.lock.tck.rules.CrashRules;
import io.holdfast.lock.tck.rules.ExclusionRules;
import io.holdfast.lock.tck.rules.FencingRules;
import io.holdfast.lock.tck.rules.GuardRules;
import io.holdfast.lock.tck.rules.HygieneRules;
import io.holdfast.lock.tck.rules.JointRules;
import io.holdfast.lock.tck.rules.KitRules;
import io.holdfast.lock.tck.rules.LateAnswerRules;
import io.holdfast.lock.tck.rules.NamingRules;
import io.holdfast.lock.tck.rules.ReadWriteRules;
import io.holdfast.lock.tck.rules.ReaderRules;
import io.holdfast.lock.tck.rules.ReentrancyRules;
import io.holdfast.lock.tck.rules.ReleaseRules;
import io.holdfast.lock.tck.rules.RenewalRules;
import io.holdfast.lock.tck.rules.SemaphoreRules;
import io.holdfast.lock.tck.rules.TtlRules;
import io.holdfast.lock.tck.rules.WaitingRules;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The tests of all rules of docs/SPEC.md on one backend. Subclass it, and open your fixture:
 *
 * <pre>{@code
 * class MyStoreConformanceTest extends LockConformance {
 *   @Override
 *   protected Fixture openFixture() {
 *     return new MyStoreFixture();
 *   }
 * }
 * }</pre>
 *
 * <p>Most of the time is spent waiting for TTLs. The tests of one backend can run in parallel if
 * JUnit is configured so: {@code junit.jupiter.execution.parallel.enabled = true},
 * {@code junit.jupiter.execution.parallel.config.strategy = fixed},
 * {@code junit.jupiter.execution.parallel.config.fixed.parallelism = 8}. Tests that disturb others
 * run alone in any case.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.SAME_THREAD)
public abstract class LockConformance {
  private @Nullable Fixture fixture;

  /** Called by JUnit. */
  protected LockConformance() {}

  /**
   * Opens the fixture, once for the class; it is closed after the last test. If the backend is not
   * available on this machine, fail an assumption that says why; all rules are then skipped.
   */
  protected abstract Fixture openFixture() throws Exception;

  @BeforeAll
  final void open() throws Exception {
    fixture = openFixture();
  }

  @AfterAll
  final void close() {
    if (fixture != null) {
      fixture.close();
    }
  }

  /** Returns the fixture that the rules are tested with, which is open from the first test on. */
  public final Fixture fixture() {
    return Objects.requireNonNull(fixture, "openFixture() returned nothing");
  }

  @Nested
  final class Naming extends NamingRules {}

  @Nested
  final class Exclusion extends ExclusionRules {}

  @Nested
  final class Reentrancy extends ReentrancyRules {}

  @Nested
  final class Ttl extends TtlRules {}

  @Nested
  final class Renewal extends RenewalRules {}

  @Nested
  final class Waiting extends WaitingRules {}

  @Nested
  final class LateAnswers extends LateAnswerRules {}

  @Nested
  final class Release extends ReleaseRules {}

  @Nested
  final class Fencing extends FencingRules {}

  @Nested
  final class Guard extends GuardRules {}

  @Nested
  final class Crash extends CrashRules {}

  @Nested
  final class Hygiene extends HygieneRules {}

  @Nested
  final class Kit extends KitRules {}

  @Nested
  final class Joint extends JointRules {}

  @Nested
  final class Permits extends SemaphoreRules {}

  @Nested
  final class ReadWrite extends ReadWriteRules {}

  @Nested
  final class Readers extends ReaderRules {}
}
