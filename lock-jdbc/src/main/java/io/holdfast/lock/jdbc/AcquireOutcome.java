package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.StoreException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of a try to get a lock or a permit.
 *
 * @param grant the grant; null if it got none
 * @param refusal why it got none, unless it is taken or others are before it in line
 * @param mayWait whether the claim may wait in line
 */
record AcquireOutcome(
    @Nullable JdbcGrant grant, @Nullable StoreException refusal, boolean mayWait) {
  /** It is taken, or others are before it in line. */
  static final AcquireOutcome TAKEN = new AcquireOutcome(null, null, true);

  static AcquireOutcome granted(JdbcGrant grant) {
    return new AcquireOutcome(grant, null, false);
  }

  static AcquireOutcome refused(StoreException refusal) {
    return new AcquireOutcome(null, refusal, false);
  }

  /** Makes the outcome if others had the row locked at each try. */
  static AcquireOutcome locked() {
    return new AcquireOutcome(null, Grants.locked(), true);
  }

  /** Returns the grant, if there is one. */
  Optional<JdbcGrant> orRefused() throws StoreException {
    if (refusal != null) {
      throw refusal;
    }
    return Optional.ofNullable(grant);
  }
}
