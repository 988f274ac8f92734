package io.holdfast.lock.redis.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.redis.quorum.Voter.Lane;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Questions to one server of a quorum, by a JVM that may start no more threads; no server. */
class VoterTest {
  private final Claim claim = Claims.claim(Claims.freshKey());
  private final AtomicInteger asked = new AtomicInteger();
  private final Voter voter = voter(2);

  private volatile boolean noMoreThreads;
  private volatile Error whenNoMore = new OutOfMemoryError("unable to create native thread");

  /** A voter that starts threads at once up to that many; then it queues a question first. */
  private Voter voter(int threads) {
    return new Voter(
        new Server(
            key -> {
              throw new AssertionError("No question of this test needs a connection");
            },
            Stores.STORE_TIMEOUT,
            "voter-test"),
        Stores.STORE_TIMEOUT,
        lane -> new ThreadPoolExecutor(
            threads, 2, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::thread));
  }

  private Thread thread(Runnable task) {
    if (noMoreThreads) {
      throw whenNoMore;
    }
    Thread thread = new Thread(task, "voter-test");
    thread.setDaemon(true);
    return thread;
  }

  @AfterEach
  void close() {
    voter.close(Server.deadlineAfter(Stores.STORE_TIMEOUT));
  }

  private CompletableFuture<Integer> ask() {
    return ask(voter);
  }

  private CompletableFuture<Integer> ask(Voter voter) {
    return voter.ask(Lane.GRANT, claim, server -> asked.incrementAndGet());
  }

  private static void assertRefused(CompletableFuture<?> answer) {
    assertThat(answer)
        .failsWithin(Await.PATIENCE)
        .withThrowableOfType(ExecutionException.class)
        .havingCause()
        .asInstanceOf(type(StoreException.class))
        .satisfies(e -> {
          assertThat(e).hasMessageContaining("no thread to ask on");
          assertThat(e.mayHaveHappened()).isFalse();
        });
  }

  @Test
  void aQuestionForWhichThereIsNoThreadIsRefusedAndTheNextIsAsked() {
    noMoreThreads = true;
    assertRefused(ask());
    assertThat(asked).hasValue(0);
    noMoreThreads = false;
    assertThat(ask()).succeedsWithin(Await.PATIENCE).isEqualTo(1);
  }

  @Test
  void aQuestionThatFailsToBeginForWhateverErrorIsRefusedAndTheNextIsAsked() {
    whenNoMore = new StackOverflowError();
    aQuestionForWhichThereIsNoThreadIsRefusedAndTheNextIsAsked();
  }

  @Test
  void aQuestionThatWasQueuedBeforeItWasRefusedIsNotAskedLater() {
    Voter queueing = voter(0);
    noMoreThreads = true;
    assertRefused(ask(queueing));
    noMoreThreads = false;
    assertThat(ask(queueing)).succeedsWithin(Await.PATIENCE).isEqualTo(1);
    queueing.close(Server.deadlineAfter(Stores.STORE_TIMEOUT));
  }

  @Test
  void questionsThatWaitForTheirTurnAreRefusedIfThereIsNoThreadByThen() {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch ends = new CountDownLatch(1);
    CompletableFuture<Boolean> first = voter.ask(Lane.GRANT, claim, server -> {
      begun.countDown();
      return awaited(ends);
    });
    assertThat(awaited(begun)).isTrue();
    CompletableFuture<Integer> second = ask();
    CompletableFuture<Integer> third = ask();
    noMoreThreads = true;
    ends.countDown();
    assertThat(first).succeedsWithin(Await.PATIENCE).isEqualTo(true);
    assertRefused(second);
    assertRefused(third);
    assertThat(asked).hasValue(0);
    noMoreThreads = false;
    assertThat(ask()).succeedsWithin(Await.PATIENCE).isEqualTo(1);
  }

  private static boolean awaited(CountDownLatch latch) {
    try {
      return latch.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
