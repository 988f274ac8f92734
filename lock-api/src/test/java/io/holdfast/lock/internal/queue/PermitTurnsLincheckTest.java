package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The queues of one semaphore under all interleavings of a few threads that Lincheck can think of:
 * no more threads have a turn than there are permits, and none waits for ever.
 */
@Timeout(600) // Lincheck's threads spin: slow where others keep the machine busy
class PermitTurnsLincheckTest {
  /** Handed on once, then given back. */
  private static final HandOff ONCE = (hold, next, nowNanos) -> hold.handOffs() < 1;

  /** Threads that use the queues as the client does, with a store that grants at once. */
  public static class Permits {
    private static final LockKey SEMAPHORE = new LockKey(LockKind.PERMIT, "lincheck");
    private static final LockOptions OPTIONS = LockOptions.defaults();
    private static final int PERMITS = 2;

    final WaitQueues queues = new WaitQueues(Sharing.BOUNDED, hold -> {});
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger grants = new AtomicInteger();

    public Permits() {}

    /** Waits, works, lets go. */
    @Operation
    public void section() {
      Thread me = Thread.currentThread();
      WaitQueue own = queues.use(SEMAPHORE, PERMITS, OPTIONS);
      Waiter waiter = new Waiter(me, OPTIONS);
      Entry entry = own.enter(waiter, true);
      Handle handle = null;
      if (entry instanceof Entry.Queued) {
        Waiter.News news = waiter.news();
        while (news == null) {
          LockSupport.park(this);
          news = waiter.news();
        }
        if (news instanceof Waiter.HandedOn handedOn) {
          handle = handedOn.handle();
          queues.leave(own);
        }
      }
      if (handle == null) {
        if (inside.incrementAndGet() > PERMITS) {
          throw new AssertionError("More threads have a turn than there are permits");
        }
        handle = own.granted(waiter, grant(grants.incrementAndGet()));
      }
      close(handle);
    }

    /** Waits, and gives up at once: an interrupt that may meet a turn or a lease. */
    @Operation
    public void interrupted() {
      WaitQueue own = queues.use(SEMAPHORE, PERMITS, OPTIONS);
      Waiter waiter = new Waiter(Thread.currentThread(), OPTIONS);
      if (own.enter(waiter, true) instanceof Entry.Leads || !own.leave(waiter)) {
        if (waiter.news() instanceof Waiter.HandedOn handedOn) {
          close(handedOn.handle());
        } else {
          own.endLeading(waiter, false, null);
        }
      }
      queues.leave(own);
    }

    private void close(Handle handle) {
      WaitQueue queue = handle.hold().queue();
      if (queue.close(handle, Thread.currentThread(), ONCE, 0) == Closing.TO_BE_RELEASED) {
        inside.decrementAndGet();
        gaveBack(handle.hold());
        queues.leave(queue);
      }
    }

    void gaveBack(Hold hold) {
      boolean unused = hold.queue().endRelease(hold, null);
    }

    private static ActiveGrant grant(long number) {
      return new ActiveGrant(
          new LincheckSetup.NumberedGrant(number),
          OPTIONS,
          LincheckSetup.START,
          LincheckSetup.STILL,
          new LincheckSetup.Nobody());
    }
  }

  private static ModelCheckingOptions options() {
    return LincheckSetup.options().threads(3).actorsPerThread(1);
  }

  @Test
  void noMoreHaveATurnThanThereArePermitsAndNobodyWaitsForEver() {
    options().check(Permits.class);
  }

  /** A holder that lets go does not give its turn back: seen to fail. */
  public static class Forgetful extends Permits {
    public Forgetful() {}

    @Override
    void gaveBack(Hold hold) {}
  }

  @Test
  void aLostTurnIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(Forgetful.class));
  }
}
