package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The answers of a quorum's servers to one question so far. Used by one thread.
 *
 * @param <T> the type of an answer
 */
final class Votes<T> {
  /**
   * The factor by which a server may be slower than the majority. A server that is slower still is
   * not waited for.
   */
  private static final int LATE_FACTOR = 4;

  private static final Duration LATE_MIN = Duration.ofMillis(50);

  /** The number of repeats after which late servers are given no more time than before. */
  private static final int GROWING_REPEATS_MAX = 10;

  private final int voters;
  private final List<Answer<T>> answers = new ArrayList<>();
  private final List<StoreException> failures = new ArrayList<>();

  private Votes(int voters) {
    this.voters = voters;
  }

  /** A server's answer. */
  record Answer<T>(int voter, T value) {}

  /**
   * Gathers answers until they decide, all have come, or the time is up. Later answers are ignored.
   */
  static <T> Votes<T> gather(
      List<CompletableFuture<T>> questions, Deadline deadline, Predicate<Votes<T>> decided) {
    return gather(questions, deadline, decided, deadline.whole());
  }

  /**
   * Gathers answers as {@link #gather} does, but does not wait for servers that are much slower
   * than a majority. Each repeat of an undecided question gives slow servers twice as long, since
   * their answers may decide.
   *
   * @param repeats the number of times that the same was asked before
   */
  static <T> Votes<T> gatherInTime(
      List<CompletableFuture<T>> questions,
      Deadline deadline,
      Predicate<Votes<T>> decided,
      int repeats) {
    return gather(
        questions,
        deadline,
        decided,
        LATE_MIN.multipliedBy(1L << Math.min(repeats, GROWING_REPEATS_MAX)));
  }

  private static <T> Votes<T> gather(
      List<CompletableFuture<T>> questions,
      Deadline deadline,
      Predicate<Votes<T>> decided,
      Duration lateMin) {
    long beganNanos = System.nanoTime();
    Deadline until = deadline;
    BlockingQueue<Integer> answered = new LinkedBlockingQueue<>();
    for (int i = 0; i < questions.size(); i++) {
      int voter = i;
      var unused = questions.get(i).whenComplete((value, failure) -> answered.add(voter));
    }
    Votes<T> votes = new Votes<>(questions.size());
    while (votes.pending() > 0 && !decided.test(votes)) {
      Optional<Integer> voter = until.<Optional<Integer>, RuntimeException>awaitUninterruptibly(
          left -> Optional.ofNullable(answered.poll(left, TimeUnit.NANOSECONDS)));
      if (voter.isEmpty()) {
        break;
      }
      votes.count(voter.get(), questions.get(voter.get()));
      if (votes.answers.size() == votes.majority()) {
        long majorityNanos = System.nanoTime() - beganNanos;
        until = until.within(
            Duration.ofNanos(Math.max(lateMin.toNanos(), LATE_FACTOR * majorityNanos)));
      }
    }
    return votes;
  }

  private void count(int voter, CompletableFuture<T> answered) {
    try {
      answers.add(new Answer<>(voter, answered.join()));
    } catch (CompletionException e) {
      failures.add(
          e.getCause() instanceof StoreException failure
              ? failure
              : StoreException.unanswered("Redis failed", e.getCause()));
    }
  }

  /**
   * Returns the size of a majority, more than half of the servers: any two majorities have a server
   * in common.
   */
  int majority() {
    return voters / 2 + 1;
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

  /** Converts each answer. */
  <R> Votes<R> map(Function<T, R> conclusion) {
    Votes<R> votes = new Votes<>(voters);
    answers.forEach(answer ->
        votes.answers.add(new Answer<>(answer.voter(), conclusion.apply(answer.value()))));
    votes.failures.addAll(failures);
    return votes;
  }

  /**
   * Returns the time for which a majority keeps something that each server keeps for a time of its
   * own: with the times in descending order, the one at the position of the majority.
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

  /** Returns the number of servers that have not answered, because they failed or are late. */
  int silent() {
    return voters - answers.size();
  }

  /** Whether a majority gave such an answer. */
  boolean isMajority(Predicate<T> of) {
    return count(of) >= majority();
  }

  /** Whether a majority gave such an answer, or a majority gave any other. */
  boolean isDecided(Predicate<T> of) {
    return isMajority(of) || isMajority(of.negate());
  }

  /**
   * Whether no majority can give such an answer any more, whatever the silent servers would say.
   */
  boolean isExcluded(Predicate<T> of) {
    return count(of) + silent() < majority();
  }

  /** Whether a majority answered, whatever the answers are. */
  boolean isAnswered() {
    return answers.size() >= majority();
  }

  /** Whether too few servers answered, or can still answer, to form a majority. */
  boolean isFailed() {
    return answers.size() + pending() < majority();
  }

  /** Makes the exception for too few answers. */
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
