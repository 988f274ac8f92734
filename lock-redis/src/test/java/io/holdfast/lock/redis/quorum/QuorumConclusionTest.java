package io.holdfast.lock.redis.quorum;

import static java.util.concurrent.CompletableFuture.completedFuture;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.redis.server.Reply.Acquired;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The conclusion from a round of a quorum that did not get the lock; no server. */
class QuorumConclusionTest {

  private static <T> Votes<T> votes(
      CompletableFuture<T> first, CompletableFuture<T> second, CompletableFuture<T> third) {
    return Votes.gather(
        List.of(first, second, third), Server.deadlineAfter(Stores.STORE_TIMEOUT), soFar -> false);
  }

  private static CompletableFuture<Acquired> granted(long number) {
    return completedFuture(new Acquired.Granted(number, 0));
  }

  private static CompletableFuture<Acquired> busy(String holder) {
    return completedFuture(new Acquired.Busy(1_000, holder, false));
  }

  private static <T> CompletableFuture<T> away() {
    return CompletableFuture.failedFuture(StoreException.unanswered("It is away", null));
  }

  private static void assertFails(
      Votes<Acquired> votes, Votes<Boolean> committed, boolean isLast, String message) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> QuorumStore.conclude(votes, committed, isLast, false))
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
  }

  @Test
  void aNumberThatCouldNotBeKeptIsAFailureInTheLastRoundAndNeverBusy() throws Exception {
    Votes<Acquired> votes = votes(granted(1), granted(2), busy("other"));
    Votes<Boolean> committed = votes(completedFuture(true), away(), completedFuture(false));
    assertThat(QuorumStore.conclude(votes, committed, false, false))
        .as("there is another")
        .isNull();
    assertFails(votes, committed, true, "could not be kept");
  }

  @Test
  void aNumberThatTooFewAnswerAboutIsAFailureInEveryRound() {
    Votes<Acquired> votes = votes(granted(1), granted(2), granted(3));
    Votes<Boolean> committed = votes(completedFuture(true), away(), away());
    assertFails(votes, committed, false, "could not be kept");
    assertFails(votes, committed, true, "could not be kept");
  }

  @Test
  void aLockThatTooFewAnswerAboutIsAFailureInEveryRoundAndForAWaiterInTheLast() throws Exception {
    Votes<Acquired> votes = votes(busy("other"), away(), away());
    assertFails(votes, null, false, "Too few");
    assertFails(votes, null, true, "Too few");
    assertThat(QuorumStore.conclude(votes, null, false, true))
        .as("a server may still be busy with an earlier round")
        .isNull();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> QuorumStore.conclude(votes, null, true, true))
        .withMessageContaining("Too few");
  }

  @Test
  void aSplitIsBusyInTheLastRoundOnly() throws Exception {
    Votes<Acquired> votes = votes(granted(1), busy("one"), busy("another"));
    assertThat(QuorumStore.conclude(votes, null, false, false)).isNull();
    assertThat(QuorumStore.conclude(votes, null, true, false)).isNotNull();
  }

  @Test
  void aLockThatASilentServerCouldGiveIsAFailureInTheLastRoundAndBusyForAWaiterOnly()
      throws Exception {
    Votes<Acquired> votes = votes(granted(1), busy("one"), away());
    assertThat(QuorumStore.conclude(votes, null, false, false)).isNull();
    assertFails(votes, null, true, "not known whether the lock is taken");
    assertThat(QuorumStore.conclude(votes, null, true, true)).isNotNull();
  }

  @Test
  void aSplitIsBusyIfTheSilentServerCouldNotGiveTheLock() throws Exception {
    Votes<Acquired> votes = votes(busy("one"), busy("another"), away());
    assertThat(QuorumStore.conclude(votes, null, true, false)).isNotNull();
  }

  @Test
  void aHolderThatAMajorityShowsIsBusyInEveryRound() throws Exception {
    Votes<Acquired> votes = votes(granted(1), busy("other"), busy("other"));
    QuorumStore.Asked.Busy busy = new QuorumStore.Asked.Busy("other");
    assertThat(QuorumStore.conclude(votes, null, false, false)).isEqualTo(busy);
    assertThat(QuorumStore.conclude(votes, null, true, false)).isEqualTo(busy);
  }
}
