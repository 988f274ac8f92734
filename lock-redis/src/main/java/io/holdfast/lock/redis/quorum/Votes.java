package io.holdfast.lock.redis.quorum;

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
   * Late servers are waited for this many times as long again as the majority took; any that is
   * slower still is not waited for.
   */
  private static final int LATE_FACTOR = 4;

  /** The least time for which late servers are waited for after a majority has answered. */
  private static final Duration LATE_MIN = Duration.ofMillis(50);

  /** The most repeats that double {@link #LATE_MIN}; further ones wait as long as the last. */
  private static final int GROWING_REPEATS_MAX = 10;

  private final int voters;
  final List<T> answers = new ArrayList<>();
  private final List<StoreException> failures = new ArrayList<>();

  private Votes(int voters) {
    this.voters = voters;
  }

  /**
   * Gathers answers until they decide, all have come, or the time is up. Later answers are ignored.
   */
  static <T> Votes<T> gather(
      List<CompletableFuture<T>> answersToCome, Deadline deadline, Predicate<Votes<T>> decided) {
    // Late servers are waited for until the deadline.
    return gather(answersToCome, deadline, decided, deadline.whole());
  }

  /**
   * Gathers answers as {@link #gather} does, but does not wait for servers that are much slower
   * than a majority. Each repeat of an undecided question gives slow servers twice as long, since
   * their answers may decide.
   *
   * @param repeats the number of times that the same was asked before
   */
  static <T> Votes<T> gatherInTime(
      List<CompletableFuture<T>> answersToCome,
      Deadline deadline,
      Predicate<Votes<T>> decided,
      int repeats) {
    return gather(
        answersToCome,
        deadline,
        decided,
        LATE_MIN.multipliedBy(1L << Math.min(repeats, GROWING_REPEATS_MAX)));
  }

  private static <T> Votes<T> gather(
      List<CompletableFuture<T>> answersToCome,
      Deadline deadline,
      Predicate<Votes<T>> decided,
      Duration lateMin) {
    long beganNanos = System.nanoTime();
    Deadline until = deadline;
    BlockingQueue<CompletableFuture<T>> answered = new LinkedBlockingQueue<>();
    for (CompletableFuture<T> answer : answersToCome) {
      var unused = answer.whenComplete((value, failure) -> answered.add(answer));
    }
    Votes<T> votes = new Votes<>(answersToCome.size());
    while (votes.pending() > 0 && !decided.test(votes)) {
      Optional<CompletableFuture<T>> next =
          until.<Optional<CompletableFuture<T>>, RuntimeException>awaitUninterruptibly(
              left -> Optional.ofNullable(answered.poll(left, TimeUnit.NANOSECONDS)));
      if (next.isEmpty()) {
        break;
      }
      votes.add(next.get());
      if (votes.answers.size() == votes.majority()) {
        long majorityNanos = System.nanoTime() - beganNanos;
        until = until.within(
            Duration.ofNanos(Math.max(lateMin.toNanos(), LATE_FACTOR * majorityNanos)));
      }
    }
    return votes;
  }

  private void add(CompletableFuture<T> answered) {
    try {
      answers.add(answered.join());
    } catch (CompletionException e) {
      failures.add(
          e.getCause() instanceof StoreException failure
              ? failure
              : StoreException.unanswered("Redis failed: " + e.getCause(), e.getCause()));
    }
  }

  /**
   * Returns the size of a majority, more than half of the servers: any two majorities have a server
   * in common.
   */
  int majority() {
    return voters / 2 + 1;
  }

  int count(Predicate<T> of) {
    return (int) answers.stream().filter(of).count();
  }

  /** Converts each answer. */
  <R> Votes<R> map(Function<T, R> conclusion) {
    Votes<R> votes = new Votes<>(voters);
    answers.forEach(answer -> votes.answers.add(conclusion.apply(answer)));
    votes.failures.addAll(failures);
    return votes;
  }

  /**
   * Returns the time for which a majority keeps something that each server keeps for a time of its
   * own: with the times in descending order, the one at the position of the majority.
   */
  Duration lasting(Function<T, Duration> time) {
    return answers.stream()
        .map(time)
        .sorted(Comparator.reverseOrder())
        .skip(majority() - 1)
        .findFirst()
        .orElse(Duration.ZERO);
  }

  int pending() {
    return voters - answers.size() - failures.size();
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
   * Whether no majority can give such an answer any more, whatever the servers would say that
   * failed or are late.
   */
  boolean isExcluded(Predicate<T> of) {
    return count(of) + voters - answers.size() < majority();
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
    String others = first == null ? " in time" : "; one of the others: " + first.getMessage();
    StoreException failure = StoreException.unanswered(
        "%s: %s of %s servers answered%s".formatted(what, answers.size(), voters, others), first);
    failures.stream().skip(1).forEach(failure::addSuppressed);
    return failure;
  }
}
