package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the servers of a quorum have answered so far to one question. Used by one thread.
 *
 * @param <T> their answers
 */
final class Votes<T> {
  /** Who is this much later than a majority is not waited for where that is enough to go on. */
  private static final int LATE_FACTOR = 4;

  private static final long LATE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(50);

  private final int voters;
  private final List<Answer<T>> answers = new ArrayList<>();
  private final List<StoreException> failures = new ArrayList<>();

  private Votes(int voters) {
    this.voters = voters;
  }

  /** A server's answer. */
  record Answer<T>(int voter, T value) {}

  private record Arrival<T>(
      int voter, @Nullable T value, @Nullable Throwable failure) {}

  /**
   * Gathers answers until they decide, all are there, or the time is up. Those that come later are
   * not heard.
   */
  static <T> Votes<T> gather(
      List<CompletableFuture<T>> questions, Deadline deadline, Predicate<Votes<T>> decided) {
    return gather(questions, deadline, decided, false);
  }

  /** The same, but who is much later than a majority is not waited for. */
  static <T> Votes<T> gatherInTime(
      List<CompletableFuture<T>> questions, Deadline deadline, Predicate<Votes<T>> decided) {
    return gather(questions, deadline, decided, true);
  }

  private static <T> Votes<T> gather(
      List<CompletableFuture<T>> questions,
      Deadline deadline,
      Predicate<Votes<T>> decided,
      boolean leavesLate) {
    long beganNanos = System.nanoTime();
    Deadline until = deadline;
    BlockingDeque<Arrival<T>> arrivals = new LinkedBlockingDeque<>();
    for (int i = 0; i < questions.size(); i++) {
      int voter = i;
      var unused = questions.get(i).whenComplete((value, failure) -> {
        arrivals.addLast(new Arrival<>(voter, value, failure));
      });
    }
    Votes<T> votes = new Votes<>(questions.size());
    while (votes.pending() > 0 && !decided.test(votes)) {
      Optional<Arrival<T>> arrival =
          until.<Optional<Arrival<T>>, RuntimeException>awaitUninterruptibly(
              left -> Optional.ofNullable(arrivals.poll(left, TimeUnit.NANOSECONDS)));
      if (arrival.isEmpty()) {
        break;
      }
      votes.count(arrival.get());
      if (leavesLate && votes.answers.size() == votes.majority()) {
        long majorityNanos = System.nanoTime() - beganNanos;
        until =
            until.within(Duration.ofNanos(Math.max(LATE_NANOS_MIN, LATE_FACTOR * majorityNanos)));
      }
    }
    return votes;
  }

  private void count(Arrival<T> arrival) {
    T value = arrival.value();
    if (value != null) {
      answers.add(new Answer<>(arrival.voter(), value));
    } else if (arrival.failure() instanceof StoreException e) {
      failures.add(e);
    } else {
      failures.add(StoreException.unanswered("Redis failed", arrival.failure()));
    }
  }

  /** More than half of the servers: any two majorities have a server in common. */
  static int majority(int voters) {
    return voters / 2 + 1;
  }

  int majority() {
    return majority(voters);
  }

  List<Answer<T>> answers() {
    return answers;
  }

  int count(Predicate<T> of) {
    int count = 0;
    for (Answer<T> answer : answers) {
      if (of.test(answer.value())) {
        count++;
      }
    }
    return count;
  }

  /** What follows from each answer. */
  <R> Votes<R> map(Function<T, R> conclusion) {
    Votes<R> votes = new Votes<>(voters);
    answers.forEach(answer ->
        votes.answers.add(new Answer<>(answer.voter(), conclusion.apply(answer.value()))));
    votes.failures.addAll(failures);
    return votes;
  }

  /**
   * For how long a majority has what each has for a time: until the first of those that last
   * longest goes.
   */
  Duration lasting(Function<T, Duration> time) {
    return answers.stream()
        .map(answer -> time.apply(answer.value()))
        .sorted(Comparator.reverseOrder())
        .skip(majority() - 1)
        .findFirst()
        .orElse(Duration.ZERO);
  }

  int pending() {
    return voters - answers.size() - failures.size();
  }

  /** Servers that have not answered, be it that they failed or are late. */
  int silent() {
    return voters - answers.size();
  }

  /** Whether a majority answered so. */
  boolean isMajority(Predicate<T> of) {
    return count(of) >= majority();
  }

  /** Whether no majority can answer so, whatever the silent ones would say. */
  boolean isExcluded(Predicate<T> of) {
    return count(of) + silent() < majority();
  }

  /** Whether too few answered, or can answer yet, to be a majority. */
  boolean isFailed() {
    return answers.size() + pending() < majority();
  }

  /** What to throw: too few answered to know. */
  StoreException failure(String what) {
    StoreException first = failures.isEmpty() ? null : failures.get(0);
    StoreException failure = StoreException.unanswered(
        what
            + ": "
            + answers.size()
            + " of "
            + voters
            + " servers answered"
            + (first == null ? " in time" : "; one of the others: " + first.getMessage()),
        first);
    failures.stream().skip(1).forEach(failure::addSuppressed);
    return failure;
  }
}
