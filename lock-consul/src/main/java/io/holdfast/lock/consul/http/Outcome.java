package io.holdfast.lock.consul.http;

import java.util.List;

/**
 * The outcome of a transaction.
 *
 * @param entries the keys that it shows, if it was applied
 * @param failures the operations that failed; if there are any, nothing was applied
 */
public record Outcome(List<Entry> entries, List<Failure> failures, boolean resent) {
  /** An operation, counted from zero, and why it failed. */
  public record Failure(long operation, String what) {}

  public boolean isApplied() {
    return failures.isEmpty();
  }
}
