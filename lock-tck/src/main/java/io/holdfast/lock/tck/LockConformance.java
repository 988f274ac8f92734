package io.holdfast.lock.tck;

import io.holdfast.lock.tck.rules.CrashRules;
import io.holdfast.lock.tck.rules.ExclusionRules;
import io.holdfast.lock.tck.rules.FencingRules;
import io.holdfast.lock.tck.rules.GuardRules;
import io.holdfast.lock.tck.rules.HygieneRules;
import io.holdfast.lock.tck.rules.KitRules;
import io.holdfast.lock.tck.rules.NamingRules;
import io.holdfast.lock.tck.rules.ReentrancyRules;
import io.holdfast.lock.tck.rules.ReleaseRules;
import io.holdfast.lock.tck.rules.RenewalRules;
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
 * All rules of docs/SPEC.md on one backend. Subclass it, and open your fixture:
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
 * <p>Most of the time is spent waiting for TTLs. The tests of one backend may run side by side, and
 * do if JUnit is told so: {@code junit.jupiter.execution.parallel.enabled = true},
 * {@code junit.jupiter.execution.parallel.config.strategy = fixed},
 * {@code junit.jupiter.execution.parallel.config.fixed.parallelism = 8}. Tests that disturb others
 * run alone all the same.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.SAME_THREAD)
public abstract class LockConformance {
  private @Nullable Fixture fixture;

  /** For JUnit. */
  protected LockConformance() {}

  /**
   * Opens the fixture, once for the class; closed after its last test. If the backend is not to be
   * had on this machine, fail an assumption that says why: all rules are skipped then.
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

  private Fixture opened() {
    return Objects.requireNonNull(fixture, "openFixture() returned nothing");
  }

  /** Chapter 1. */
  @Nested
  public final class Naming extends NamingRules {
    /** For JUnit. */
    public Naming() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 2. */
  @Nested
  public final class Exclusion extends ExclusionRules {
    /** For JUnit. */
    public Exclusion() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 3. */
  @Nested
  public final class Reentrancy extends ReentrancyRules {
    /** For JUnit. */
    public Reentrancy() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 4. */
  @Nested
  public final class Ttl extends TtlRules {
    /** For JUnit. */
    public Ttl() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 5. */
  @Nested
  public final class Renewal extends RenewalRules {
    /** For JUnit. */
    public Renewal() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 6. */
  @Nested
  public final class Waiting extends WaitingRules {
    /** For JUnit. */
    public Waiting() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 7. */
  @Nested
  public final class Release extends ReleaseRules {
    /** For JUnit. */
    public Release() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 8. */
  @Nested
  public final class Fencing extends FencingRules {
    /** For JUnit. */
    public Fencing() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 8. */
  @Nested
  public final class Guard extends GuardRules {
    /** For JUnit. */
    public Guard() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 9. */
  @Nested
  public final class Crash extends CrashRules {
    /** For JUnit. */
    public Crash() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 10. */
  @Nested
  public final class Hygiene extends HygieneRules {
    /** For JUnit. */
    public Hygiene() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }

  /** Chapter 11. */
  @Nested
  public final class Kit extends KitRules {
    /** For JUnit. */
    public Kit() {}

    @Override
    protected Fixture fixture() {
      return opened();
    }
  }
}
