package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Evidence.Happened;
import io.holdfast.lock.torture.Finding.Rule;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Looks for what must not be in what the workers saw. It accuses on what is certain alone:
 * {@link Attempt#sure} says of which times it is certain that a lease stood, and two of those that
 * overlap, by however little, are two holders.
 */
final class Judge {
  /**
   * Until when after a server's fault a Redis that replicates may lose what it confirmed before.
   */
  private static final long FAILOVER_NANOS_MAX = 20_000_000_000L;

  private static final String FAILOVER =
      "docs/backends/redis.md: a failover can lose a lock, or a restart of an old primary";

  private final Evidence evidence;
  private final List<Finding> findings = new ArrayList<>();
  private final Set<List<Attempt.Id>> fallen = new HashSet<>();

  private Judge(Evidence evidence) {
    this.evidence = evidence;
  }

  /** All that was found, documented or not. */
  static List<Finding> judge(Evidence evidence) {
    Judge judge = new Judge(evidence);
    Map<Integer, List<Attempt>> byName = new TreeMap<>();
    for (Attempt attempt : evidence.attempts()) {
      byName.computeIfAbsent(attempt.name(), name -> new ArrayList<>()).add(attempt);
    }
    byName.forEach((name, attempts) -> {
      judge.lookForTwoHolders(name, attempts);
      judge.lookForTokensThatFell(name, attempts);
    });
    judge.lookAtWrites();
    judge.lookForExceptions();
    judge.findings.addAll(evidence.other());
    return List.copyOf(judge.findings);
  }

  private record Sure(Attempt attempt, Interval interval) {}

  private static List<Sure> sure(List<Attempt> attempts) {
    List<Sure> sure = new ArrayList<>();
    for (Attempt attempt : attempts) {
      Interval interval = attempt.sure();
      if (interval != null) {
        sure.add(new Sure(attempt, interval));
      }
    }
    sure.sort(Comparator.comparingLong(one -> one.interval.from()));
    return sure;
  }

  private void lookForTwoHolders(int name, List<Attempt> attempts) {
    @Nullable Sure longest = null; // Of those that began before, the one that ended last.
    for (Sure next : sure(attempts)) {
      if (longest != null && longest.interval.overlaps(next.interval)) {
        long from = next.interval.from();
        long nanos = Math.min(longest.interval.until(), next.interval.until()) - from;
        findings.add(new Finding(
            Rule.TWO_HOLDERS,
            name,
            from,
            String.format(Locale.ROOT, "for %.3f ms:%n    ", nanos / 1e6) + text(longest.attempt)
                + "\n    " + text(next.attempt),
            failoverBefore(from)));
      }
      if (longest == null || next.interval.until() > longest.interval.until()) {
        longest = next;
      }
    }
  }

  /**
   * A call that was answered before another began was granted before it; and of two leases that
   * surely stood, one after the other, the first was granted first.
   */
  private void lookForTokensThatFell(int name, List<Attempt> attempts) {
    @Nullable Attempt before = null;
    for (Sure next : sure(attempts)) {
      if (before != null && before.token() >= next.attempt.token()) {
        // Where two may hold at once, the one that was granted first may be seen later.
        fell(name, before, next.attempt, failoverBefore(next.interval.from()));
      }
      before = next.attempt;
    }
    List<Attempt> granted = attempts.stream().filter(Attempt::granted).toList();
    List<Attempt> byAnswer =
        granted.stream().sorted(Comparator.comparingLong(Attempt::answeredAt)).toList();
    @Nullable Attempt highest = null;
    int answered = 0;
    for (Attempt next :
        granted.stream().sorted(Comparator.comparingLong(Attempt::askedAt)).toList()) {
      while (answered < byAnswer.size() && byAnswer.get(answered).answeredAt() < next.askedAt()) {
        Attempt one = byAnswer.get(answered);
        highest = highest == null || one.token() > highest.token() ? one : highest;
        answered++;
      }
      if (highest != null && highest.token() >= next.token()) {
        fell(name, highest, next, "");
      }
    }
    Map<Long, Attempt> byToken = new HashMap<>();
    for (Attempt next : granted) {
      Attempt same = byToken.put(next.token(), next);
      if (same != null) {
        fell(name, same, next, "");
      }
    }
  }

  private void fell(int name, Attempt before, Attempt after, String documented) {
    if (!fallen.add(List.of(before.id(), after.id()))) {
      return; // Found in another way already.
    }
    findings.add(new Finding(
        Rule.TOKEN_FELL,
        name,
        after.answeredAt(),
        "from " + before.token() + " to " + after.token() + ":\n    " + text(before) + "\n    "
            + text(after),
        documented));
  }

  private void lookAtWrites() {
    Map<Attempt.Id, Attempt> byId = new HashMap<>();
    evidence.attempts().forEach(attempt -> byId.put(attempt.id(), attempt));
    Set<Attempt.Id> there = new HashSet<>();
    evidence.written().forEach((name, log) -> {
      @Nullable Written highest = null;
      for (Written next : log) {
        there.add(next.attempt());
        Attempt attempt = byId.get(next.attempt());
        long at = attempt == null ? 0 : attempt.answeredAt();
        if (highest != null && next.token() < highest.token()) {
          findings.add(Finding.violation(
              Rule.STALE_WRITE,
              name,
              at,
              next.text() + " behind " + highest.text() + ":\n    "
                  + text(byId.get(highest.attempt())) + "\n    " + text(attempt)));
        }
        if (attempt != null && attempt.write() == Write.REFUSED) {
          findings.add(
              Finding.violation(Rule.REFUSED_WRITE_IS_THERE, name, at, "    " + text(attempt)));
        }
        highest = highest == null || next.token() > highest.token() ? next : highest;
      }
    });
    for (Attempt attempt : evidence.attempts()) {
      if (attempt.write() == Write.DONE && !there.contains(attempt.id())) {
        findings.add(new Finding(
            Rule.CONFIRMED_WRITE_IS_GONE,
            attempt.name(),
            attempt.answeredAt(),
            "    " + text(attempt),
            failoverAround(attempt)));
      }
    }
  }

  private void lookForExceptions() {
    for (Attempt attempt : evidence.attempts()) {
      if (attempt.answer() == Answer.UNDOCUMENTED
          || attempt.closing() == Closing.UNDOCUMENTED
          || attempt.write() == Write.UNDOCUMENTED) {
        findings.add(Finding.violation(
            Rule.UNDOCUMENTED_EXCEPTION,
            attempt.name(),
            attempt.answeredAt(),
            "(its stack is in the worker's output)\n    " + text(attempt)));
      }
    }
  }

  /** The sentence that allows two holders at this time; empty: none does. */
  private String failoverBefore(long at) {
    return isAllowed(at, at) ? FAILOVER : "";
  }

  /** The sentence that allows the loss of a write; empty: none does. */
  private String failoverAround(Attempt attempt) {
    long until = attempt.closedAt() == 0 ? attempt.believedUntil() : attempt.closedAt();
    return isAllowed(attempt.answeredAt() - FAILOVER_NANOS_MAX, until + FAILOVER_NANOS_MAX)
        ? FAILOVER
        : "";
  }

  /** Whether a server's fault was between these, or its aftermath reaches there. */
  private boolean isAllowed(long from, long until) {
    return evidence.store().forgetsAtFailover()
        && evidence.faults().stream()
            .filter(happened -> happened.fault() instanceof Fault.OfServer)
            .anyMatch(happened -> reaches(happened, from, until));
  }

  private static boolean reaches(Happened happened, long from, long until) {
    return happened.beganAt() <= until && from <= happened.endedAt() + FAILOVER_NANOS_MAX;
  }

  private String text(@Nullable Attempt attempt) {
    return attempt == null ? "(an attempt that is in no log)" : attempt.text(evidence.beganAt());
  }
}
