package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Fault.Kind;
import io.holdfast.lock.torture.Finding.Rule;
import java.util.ArrayList;
import java.util.Arrays;
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
 * Looks for violations in what the workers recorded. It reports only what is certain: two leases
 * are two holders if their times of {@link Attempt#sure} overlap, by however little.
 */
final class Judge {
  /** The longest time until a holder finds out that a failover lost its lease. */
  private static final long BELIEVED_NANOS_MAX = StoreKind.TTL.toNanos();

  /** The longest time until a connected replica has what was confirmed. */
  private static final long LAG_NANOS_MAX = 1_000_000_000L;

  /** The most by which the clocks of a client and a store may differ over a minHold. */
  private static final long MIN_HOLD_NANOS_LESS = 30_000_000;

  /** The first attempts of a process, which may still be loading its classes. */
  private static final int COLD_ATTEMPTS = 2 * Worker.THREADS;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private static final String FAILOVER =
      "docs/backends/redis.md: a failover can lose a lock, or a restart of an old primary";

  private static final String CLOCK_JUMPED =
      "docs/SAFETY.md: a lease expires early at a store whose clock jumps ahead";

  private static final String NUMBER_LOST =
      "docs/backends/redis.md: a token can fall if a clock is behind and the last number is lost";

  private final Evidence evidence;
  private final List<Finding> findings = new ArrayList<>();
  private final Set<List<Attempt.Id>> fallen = new HashSet<>();

  private Judge(Evidence evidence) {
    this.evidence = evidence;
  }

  /** Returns all findings, documented or not. */
  static List<Finding> judge(Evidence evidence) {
    Judge judge = new Judge(evidence);
    Map<Integer, List<Attempt>> byName = new TreeMap<>();
    for (Attempt attempt : evidence.attempts()) {
      byName.computeIfAbsent(attempt.name(), name -> new ArrayList<>()).add(attempt);
    }
    byName.forEach((name, attempts) -> {
      judge.lookForTwoHolders(name, attempts);
      judge.lookForTokensThatFell(name, attempts);
      judge.lookAtMinHolds(name, attempts);
    });
    judge.lookAtTimes();
    judge.lookAtReentry();
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
    // Of those that began before, the ones that ended last.
    @Nullable Sure longestRead = null;
    @Nullable Sure longestOther = null;
    for (Sure next : sure(attempts)) {
      if (longestOther != null && longestOther.interval.overlaps(next.interval)) {
        areTwoHolders(name, longestOther, next);
      } else if (longestRead != null
          && !next.attempt.reads()
          && longestRead.interval.overlaps(next.interval)) {
        areTwoHolders(name, longestRead, next);
      }
      if (next.attempt.reads()) {
        longestRead = later(longestRead, next);
      } else {
        longestOther = later(longestOther, next);
      }
    }
  }

  /** Returns the one that ended last. */
  private static Sure later(@Nullable Sure longest, Sure next) {
    return longest == null || next.interval.until() > longest.interval.until() ? next : longest;
  }

  private void areTwoHolders(int name, Sure first, Sure next) {
    long from = next.interval.from();
    long nanos = Math.min(first.interval.until(), next.interval.until()) - from;
    findings.add(new Finding(
        Rule.TWO_HOLDERS,
        name,
        from,
        String.format(Locale.ROOT, "for %.3f ms:%n    ", nanos / 1e6) + text(first.attempt)
            + "\n    " + text(next.attempt),
        lossAllowed(first.attempt, from, from + nanos, endsByServerClock())));
  }

  /**
   * Looks for tokens that are not above that of an earlier grant. A call that was answered before
   * another began was granted first; so was the first of two leases with times one after another.
   * Of two reads, nothing is said.
   */
  private void lookForTokensThatFell(int name, List<Attempt> attempts) {
    @Nullable Attempt before = null;
    for (Sure next : sure(attempts)) {
      if (before != null && isFall(before, next.attempt)) {
        // Where two may hold at once, the one that was granted first may be seen later.
        long at = next.interval.from();
        fell(name, before, next.attempt, lossAllowed(before, at, at, endsByServerClock()));
      }
      before = next.attempt;
    }
    List<Attempt> granted = attempts.stream().filter(Attempt::granted).toList();
    List<Attempt> byAnswer =
        granted.stream().sorted(Comparator.comparingLong(Attempt::answeredAt)).toList();
    @Nullable Attempt highestRead = null;
    @Nullable Attempt highestOther = null;
    int answered = 0;
    for (Attempt next :
        granted.stream().sorted(Comparator.comparingLong(Attempt::askedAt)).toList()) {
      while (answered < byAnswer.size() && byAnswer.get(answered).answeredAt() < next.askedAt()) {
        Attempt one = byAnswer.get(answered);
        if (one.reads()) {
          highestRead = higher(highestRead, one);
        } else {
          highestOther = higher(highestOther, one);
        }
        answered++;
      }
      for (Attempt highest : Arrays.asList(highestRead, highestOther)) {
        if (highest != null && isFall(highest, next)) {
          fell(name, highest, next, fallAllowed(highest, next));
        }
      }
    }
    Map<Long, Attempt> byToken = new HashMap<>();
    for (Attempt next : granted) {
      Attempt same = byToken.put(next.token(), next);
      if (same != null && isFall(same, next)) {
        fell(name, same, next, fallAllowed(same, next));
      }
    }
  }

  private static Attempt higher(@Nullable Attempt highest, Attempt next) {
    return highest == null || next.token() > highest.token() ? next : highest;
  }

  private static boolean isFall(Attempt before, Attempt after) {
    return before.token() >= after.token() && !(before.reads() && after.reads());
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

  /** Looks for grants before the minimum hold was over, counted from the call that had it. */
  private void lookAtMinHolds(int name, List<Attempt> attempts) {
    for (Attempt kept : attempts) {
      if (!kept.granted() || kept.minHoldMillis() == 0) {
        continue;
      }
      long end = kept.askedAt() + kept.minHoldMillis() * NANOS_PER_MILLI - MIN_HOLD_NANOS_LESS;
      for (Attempt next : attempts) {
        if (next.granted() && next.token() > kept.token() && next.answeredAt() < end) {
          findings.add(new Finding(
              Rule.MIN_HOLD_CUT_SHORT,
              name,
              next.answeredAt(),
              "of " + kept.minHoldMillis() + " ms:\n    " + text(kept) + "\n    " + text(next),
              lossAllowed(kept, next.answeredAt(), next.answeredAt(), true)));
        }
      }
    }
  }

  private void lookAtTimes() {
    long overrunNanosMax = StoreKind.overrunMax().toNanos();
    for (Attempt attempt : evidence.attempts()) {
      if (attempt.answeredAt() == 0
          || attempt.maxWaitMillis() < 0
          || attempt.answer() == Answer.STARVED) {
        continue;
      }
      long maxWait = attempt.maxWaitMillis() * NANOS_PER_MILLI;
      long took = attempt.answeredAt() - attempt.askedAt();
      long stalled = Math.max(attempt.stalledNanos(), frozenNanos(attempt));
      boolean tooEarly = attempt.answer() == Answer.TAKEN && took < maxWait;
      boolean tooLate =
          took - stalled - maxWait > overrunNanosMax && attempt.id().index() >= COLD_ATTEMPTS;
      if (tooEarly || tooLate) {
        String times = String.format(
            Locale.ROOT,
            "of %d ms took %.1f ms, in %.1f of which the process did not run:",
            attempt.maxWaitMillis(),
            took / 1e6,
            stalled / 1e6);
        accuse(Rule.TIMED_WAIT, attempt, times);
      }
    }
  }

  /** Notes a violation by one attempt. */
  private void accuse(Rule rule, Attempt attempt, String what) {
    findings.add(Finding.violation(
        rule, attempt.name(), attempt.answeredAt(), what + "\n    " + text(attempt)));
  }

  /** Returns the time that a worker was frozen in a call, in case its pulse was recorded late. */
  private long frozenNanos(Attempt attempt) {
    return evidence.faults().stream()
        .filter(happened -> happened.fault().kind() == Kind.FREEZE_WORKER
            || happened.fault().kind() == Kind.SUSPEND_WORKER)
        .filter(happened -> happened.fault().index() == attempt.id().worker())
        .mapToLong(happened -> Math.min(happened.endedAt(), attempt.answeredAt())
            - Math.max(happened.beganAt(), attempt.askedAt()))
        .filter(nanos -> nanos > 0)
        .sum();
  }

  private void lookAtReentry() {
    for (Attempt attempt : evidence.attempts()) {
      if (attempt.nested() == Nested.WRONG) {
        accuse(Rule.REENTRY, attempt, "");
      }
    }
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
          accuse(Rule.REFUSED_WRITE_IS_THERE, attempt, "");
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
        accuse(Rule.UNDOCUMENTED_EXCEPTION, attempt, "(its stack is in the worker's output)");
      }
    }
  }

  /**
   * Returns the sentence that allows another holder beside this one; empty if none does. Servers
   * were unsettled, or the clock of one jumped ahead, between this one's call and {@code from}, and
   * at most {@link #BELIEVED_NANOS_MAX} before {@code until}.
   */
  private String lossAllowed(Attempt granted, long from, long until, boolean endsByServerClock) {
    long since = Math.max(granted.askedAt(), until - BELIEVED_NANOS_MAX);
    if (wereUnsettled(since, from)) {
      return FAILOVER;
    }
    return endsByServerClock && isAnyWithin(evidence.jumpsAhead(), since, from) ? CLOCK_JUMPED : "";
  }

  private boolean endsByServerClock() {
    return evidence.store().expiresByServerClock();
  }

  /**
   * Returns the sentence that allows a lower token; empty if none does. The last number was lost at
   * a failover, and the next one is the time of another server, which is behind.
   */
  private String fallAllowed(Attempt before, Attempt after) {
    long from = Math.min(before.askedAt(), after.askedAt());
    long until = Math.max(before.answeredAt(), after.answeredAt());
    boolean wereApart = evidence.faults().stream()
        .filter(happened -> happened.fault().kind() == Kind.SET_SERVER_CLOCK)
        .anyMatch(happened -> happened.beganAt() <= until
            && from <= happened.endedAt() + Math.abs(happened.fault().amount()) * NANOS_PER_MILLI);
    return wereApart && wereUnsettled(from, until) ? NUMBER_LOST : "";
  }

  /** Returns the sentence that allows the loss of a write; empty if none does. */
  private String failoverAround(Attempt attempt) {
    long until = attempt.closedAt() == 0 ? attempt.believedUntil() : attempt.closedAt();
    return wereUnsettled(attempt.answeredAt(), until + LAG_NANOS_MAX) ? FAILOVER : "";
  }

  /** Whether servers may have lost, between these times, what they had confirmed. */
  private boolean wereUnsettled(long from, long until) {
    return evidence.store().forgetsAtFailover() && isAnyWithin(evidence.unsettled(), from, until);
  }

  private static boolean isAnyWithin(List<Interval> times, long from, long until) {
    return times.stream().anyMatch(time -> time.from() <= until && from <= time.until());
  }

  private String text(@Nullable Attempt attempt) {
    return attempt == null ? "(an attempt that is in no log)" : attempt.text(evidence.beganAt());
  }
}
