package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.internal.time.Validity;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** The wait of an attempt in the store's queue. As a task of the store: its wake-up. */
final class StoreWait implements Runnable {
  /** Fraction of the store timeout below which an answer counts as prompt. */
  private static final int PROMPT_DIVISOR = 10;

  private final Attempt<?> attempt;
  private final LeaderTurn turn;
  private final WaitQueue queue;
  private final WaitMode mode;
  private final Clocks time;

  /** Before the last question. */
  private ClockReading asked;

  private boolean handedOver;

  /** Something may have changed at the store. */
  private volatile boolean rung;

  /** @param asked before the question that got the place */
  StoreWait(Attempt<?> attempt, LeaderTurn turn, WaitQueue queue, ClockReading asked) {
    this.attempt = attempt;
    this.turn = turn;
    this.queue = queue;
    this.mode = attempt.mode();
    this.time = attempt.time();
    this.asked = asked;
  }

  @Override
  public void run() {
    rung = true;
    LockSupport.unpark(attempt.thread());
  }

  /** Before the question whose answer was the grant. */
  ClockReading asked() {
    return asked;
  }

  /** Whether the grant came without a question. */
  boolean isHandedOver() {
    return handedOver;
  }

  /** Granted, gone, or still waiting when the time ran out; the place is still to be left. */
  Ticket.Status await(Ticket ticket, Duration recheckAfter)
      throws StoreException, InterruptedException {
    Duration recheck = recheckAfter;
    while (true) {
      // Past the end, the answer that just came was the last look.
      if (mode.untilNanos() - time.nanos() <= 0) {
        attempt.sawHolder(ticket.holder().orElse(null));
        if (time.nanos() - mode.untilNanos() >= attempt.storeTimeoutNanos() / PROMPT_DIVISOR) {
          // Not on the caller's time, since the store is slow.
          turn.leaveInBackground();
        }
        return new Ticket.Waiting(recheck);
      }
      queue.waitsAtStore(this);
      awaitWake(time.nanos() + Nanos.of(recheck));
      Optional<Grant> grant = call(() -> handedOver(ticket));
      if (grant.isPresent()) {
        handedOver = true;
        return new Ticket.Granted(grant.get());
      }
      asked = time.read();
      rung = false;
      queue.asks();
      Ticket.Status status = call(ticket::poll);
      if (!(status instanceof Ticket.Waiting waiting)) {
        return status;
      }
      recheck = waiting.recheckAfter();
    }
  }

  /** A grant that the store told of by itself, if enough is left of it to start on it. */
  private Optional<Grant> handedOver(Ticket ticket) {
    LockOptions options = attempt.options();
    // A fixed lease is to have its whole TTL, and a capped one its whole time.
    return options.isRenewed() && options.maxHold().isEmpty()
        ? ticket.handedOver().filter(this::isFresh)
        : Optional.empty();
  }

  private boolean isFresh(Grant grant) {
    long validForNanos = Math.min(Nanos.of(attempt.options().ttl()), Nanos.of(grant.validFor()));
    return Validity.of(asked, validForNanos, asked.nanos() + Nanos.FOREVER, asked.nanos())
        .isFresh(time.read());
  }

  private void awaitWake(long recheckAtNanos) throws InterruptedException {
    while (true) {
      attempt.requireOpen();
      attempt.noteInterrupt();
      long nowNanos = time.nanos();
      long leftNanos = Math.min(recheckAtNanos - nowNanos, mode.untilNanos() - nowNanos);
      if (rung || leftNanos <= 0) {
        return;
      }
      time.park(attempt, leftNanos);
    }
  }

  /** A failure is a reason not to ask the same store again on the caller's time. */
  private <A> A call(StoreCalls.Call<A> call) throws StoreException {
    try {
      return StoreCalls.call(call);
    } catch (StoreException e) {
      turn.failed(e);
      throw e;
    }
  }
}
