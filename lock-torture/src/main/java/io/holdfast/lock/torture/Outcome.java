package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Write;
import java.util.List;
import java.util.Locale;

/**
 * What came of a schedule.
 *
 * @param recoveryNanos from the end of the last fault until every worker had every name
 */
record Outcome(Plan plan, Evidence evidence, List<Finding> findings, long recoveryNanos) {
  List<Finding> violations() {
    return findings.stream().filter(Finding::isViolation).toList();
  }

  long documented() {
    return findings.stream().filter(finding -> !finding.isViolation()).count();
  }

  /** The leases that were had. */
  long sections() {
    return evidence.attempts().stream().filter(Attempt::granted).count();
  }

  long writes() {
    return evidence.attempts().stream().filter(a -> a.write() == Write.DONE).count();
  }

  private long lost() {
    return evidence.attempts().stream()
        .filter(a -> a.closing() == Attempt.Closing.LOST)
        .count();
  }

  private long failed() {
    return evidence.attempts().stream()
        .filter(a -> a.answer() == Attempt.Answer.STORE_FAILED)
        .count();
  }

  String summary() {
    return String.format(
        Locale.ROOT,
        "%s, seed %d: %d faults, %d calls, %d leases, %d of them lost, %d calls failed, %d guarded"
            + " writes; recovered in %.1f s; %d violations%s",
        plan.store().option(),
        plan.seed(),
        evidence.faults().size(),
        evidence.attempts().size(),
        sections(),
        lost(),
        failed(),
        writes(),
        recoveryNanos / 1e9,
        violations().size(),
        documented() == 0 ? "" : ", " + documented() + " documented losses");
  }
}
