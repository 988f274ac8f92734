package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.spi.Claim;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The queue of readers that share a grant, under all interleavings of a few threads that Lincheck
 * can think of: whoever waits or comes in time gets a hold of the one grant, and the last of them,
 * and only the last, gives it back.
 */
@Tag("nightly")
@Timeout(600) // Lincheck's threads spin: slow where others keep the machine busy
class ReadersLincheckTest {
  private static final LockOptions OPTIONS = LockOptions.defaults();

  /** So long an acquire took that others may join while the clock stands still. */
  private static final long ASKED_NANOS = -1_000_000_000;

  /** Threads that read as the client does, with a store that grants at once. */
  public static class Reads {
    private final WaitQueue queue = new WaitQueue(
        LincheckSetup.KEY, Claim.SHARED, new ShareWindow(new RecentReads()), hold -> {});
    private final AtomicInteger asking = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger released = new AtomicInteger();

    public Reads() {}

    /** Waits or joins, reads, and closes; nothing if the grant is over. */
    @Operation
    public void read() {
      Thread me = Thread.currentThread();
      Handle handle = acquire(me);
      if (handle != null) {
        inside.incrementAndGet();
        require(released.get() == 0, "Somebody reads after the release");
        inside.decrementAndGet();
        closed(handle.hold(), handle.hold().close(handle, me, HandOff.NEVER, 0));
      }
    }

    /** Asks, and gives up at once: an interrupt that may meet a grant. */
    @Operation
    public void interrupted() {
      Thread me = Thread.currentThread();
      Waiter waiter = new Waiter(me, OPTIONS, Claim.SHARED);
      Waiter.News news = queue.enter(waiter, true);
      if (news == null && !queue.leave(waiter)) {
        news = waiter.news();
      }
      if (news instanceof Waiter.Acquired acquired) {
        Handle handle = acquired.handle();
        closed(handle.hold(), handle.hold().close(handle, me, HandOff.NEVER, 0));
      } else if (news instanceof Waiter.YourTurn) {
        queue.endLeading(waiter, null, false);
      }
    }

    private Handle acquire(Thread me) {
      Waiter waiter = new Waiter(me, OPTIONS, Claim.SHARED);
      waiter.joinAt(0);
      Waiter.News news = queue.enter(waiter, true);
      while (news == null) {
        LockSupport.park(this);
        news = waiter.news();
      }
      if (news instanceof Waiter.Acquired acquired) {
        return acquired.handle();
      } else if (news instanceof Waiter.Elsewhere) {
        return null;
      }
      require(asking.incrementAndGet() == 1, "The store is asked twice");
      return queue.granted(
          waiter,
          new ActiveGrant(
              new LincheckSetup.NumberedGrant(1),
              OPTIONS,
              LincheckSetup.START,
              LincheckSetup.STILL,
              new LincheckSetup.Nobody()),
          ASKED_NANOS);
    }

    void closed(Hold hold, Closing closing) {
      if (closing == Closing.TO_BE_RELEASED) {
        require(inside.get() == 0, "The grant is given back while somebody reads");
        require(released.incrementAndGet() == 1, "It is given back twice");
        boolean unused = queue.endRelease(hold, null);
      } else {
        require(closing == Closing.LEFT, "A reader is told " + closing);
      }
    }

    final void release() {
      released.incrementAndGet();
    }

    private static void require(boolean condition, String message) {
      if (!condition) {
        throw new AssertionError(message);
      }
    }
  }

  @Test
  void theLastReaderGivesTheGrantBackAndNobodyReadsAfterwards() {
    LincheckSetup.options().check(Reads.class);
  }

  /** The first to leave gives the grant back: seen to fail. */
  public static class Hasty extends Reads {
    public Hasty() {}

    @Override
    void closed(Hold hold, Closing closing) {
      if (closing == Closing.LEFT) {
        release();
      }
      super.closed(hold, closing);
    }
  }

  @Test
  void aGrantThatTheFirstGivesBackIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> LincheckSetup.options().check(Hasty.class));
  }
}
