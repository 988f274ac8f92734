package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Write;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;

/**
 * The outcome of a schedule.
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

  /** Returns the number of leases. */
  long sections() {
    return count(Attempt::granted);
  }

  /** Returns the number of leases of a kind. */
  long sections(Call.Kind kind) {
    return count(attempt -> attempt.granted() && attempt.isOf(kind));
  }

  long writes() {
    return count(a -> a.write() == Write.DONE);
  }

  private long count(Predicate<Attempt> which) {
    return evidence.attempts().stream().filter(which).count();
  }

  String summary() {
    return String.format(
        Locale.ROOT,
        "%s, seed %d: %d faults, %d calls, %d leases (%d to read, %d permits), %d of them lost, %d calls failed, %d had no"
            + " memory or thread, %d guarded writes; recovered in %.1f s; %d violations%s",
        plan.store().option(),
        plan.seed(),
        evidence.faults().size(),
        evidence.attempts().size(),
        sections(),
        sections(Call.Kind.READ),
        sections(Call.Kind.PERMIT),
        count(a -> a.closing() == Closing.LOST),
        count(a -> a.answer() == Answer.STORE_FAILED),
        count(a -> a.answer() == Answer.STARVED || a.closing() == Closing.STARVED),
        writes(),
        recoveryNanos / 1e9,
        violations().size(),
        documented() == 0 ? "" : ", " + documented() + " documented losses");
  }
}
