package io.holdfast.lock.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Calls that a leader repeats, since it can't know whether a call that failed got through to its
 * queue.
 */
class WaitQueueTest {
  private static final LockOptions OPTIONS = LockOptions.defaults();

  private final WaitQueue queue =
      new WaitQueue(LincheckSetup.KEY, Claim.EXCLUSIVE, null, hold -> {});
  private final Waiter first = waiter();
  private final Waiter second = waiter();
  private final Waiter third = waiter();

  private static Waiter waiter() {
    return new Waiter(Thread.currentThread(), OPTIONS, Claim.EXCLUSIVE);
  }

  private void enterAll() {
    assertThat(queue.enter(first, true)).isInstanceOf(Waiter.YourTurn.class);
    assertThat(queue.enter(second, true)).isNull();
    assertThat(queue.enter(third, true)).isNull();
  }

  @Test
  void anEndThatIsToldAgainEndsNobodyElsesTurn() {
    enterAll();
    queue.endLeading(first, null, false);
    assertThat(second.news()).isInstanceOf(Waiter.YourTurn.class);

    queue.endLeading(first, null, false);

    assertThat(third.news()).isNull();
    queue.endLeading(second, null, false);
    assertThat(third.news()).isInstanceOf(Waiter.YourTurn.class);
  }

  @Test
  void aFailureThatIsToldAgainIsNotThatOfTheNextLeader() {
    StoreException failure = StoreException.unanswered("no answer", null);
    assertThat(queue.enter(first, true)).isInstanceOf(Waiter.YourTurn.class);
    queue.endLeading(first, new Waiter.StoreFailed(failure), true);
    assertThat(queue.enter(second, true)).isInstanceOf(Waiter.YourTurn.class);
    assertThat(queue.enter(third, true)).isNull();

    queue.endLeading(first, new Waiter.StoreFailed(failure), true);

    assertThat(third.news()).isNull();
    assertThat(queue.isLed()).isTrue();
  }

  @Test
  void anEndThatIsToldAfterAGrantLeavesTheHolder() {
    enterAll();
    Handle handle = queue.granted(first, grant(), 0);

    queue.endLeading(first, null, false);

    assertThat(queue.grant()).isNotNull();
    assertThat(second.news()).isNull();
    assertThat(handle).isNotNull();
  }

  @Test
  void aLeaderFindsWhatItWasGrantedAsItsNews() {
    enterAll();
    Handle handle = queue.granted(first, grant(), 0);

    assertThat(first.news()).isEqualTo(new Waiter.Acquired(handle, LockListener.Source.STORE));
  }

  /** An answer to a renewal finds a hold without a handle, which a cleaner would release. */
  @Test
  void theReleaseIsReservedForTheThreadThatClosedTheLastHandle() {
    enterAll();
    ActiveGrant grant = grant();
    Handle handle = Objects.requireNonNull(queue.granted(first, grant, 0));
    Closing closing = handle.hold().close(handle, Thread.currentThread(), HandOff.NEVER, 0);
    assertThat(closing).isEqualTo(Closing.TO_BE_RELEASED);

    Hold unfinished = Objects.requireNonNull(queue.unfinishedRelease(grant));
    assertThat(CompletableFuture.supplyAsync(unfinished::reserveRelease).join()).isFalse();
    unfinished.unreserveRelease();
    assertThat(CompletableFuture.supplyAsync(unfinished::reserveRelease).join()).isTrue();
  }

  private static ActiveGrant grant() {
    return new ActiveGrant(
        new LincheckSetup.NumberedGrant(1),
        OPTIONS,
        LincheckSetup.START,
        LincheckSetup.STILL,
        new LincheckSetup.Nobody());
  }
}
