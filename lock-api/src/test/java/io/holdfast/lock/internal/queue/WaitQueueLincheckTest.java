package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.spi.Claim;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The wait queue under all interleavings of a few threads that Lincheck can think of: a section is
 * an operation, and the count of sections must be that of some order of them. A thread that waits
 * for ever, and a second holder, fail too.
 */
@Tag("nightly")
@Timeout(600) // Lincheck's threads spin: slow where others keep the machine busy
class WaitQueueLincheckTest {
  private static final HandOff ALWAYS = (grant, next, nowNanos) -> true;

  /** Threads that use the queue as the client does, with a store that grants at once. */
  public static class Sections {
    private static final LockOptions OPTIONS = LockOptions.defaults();
    final WaitQueue queue = new WaitQueue(LincheckSetup.KEY, Claim.EXCLUSIVE, null, hold -> {});
    private int count;
    private long lastToken;
    boolean granted;
    private long grants;

    public Sections() {}

    /** Waits, works, lets go: how many sections there were before. */
    @Operation
    public int section() {
      Handle handle = await(Thread.currentThread());
      int before = work(handle);
      close(handle);
      return before;
    }

    /** With a section in the section. */
    @Operation
    public int nested() {
      Thread me = Thread.currentThread();
      Handle outer = await(me);
      Waiter.News news = queue.enter(new Waiter(me, OPTIONS, Claim.EXCLUSIVE), true);
      Handle inner = ((Waiter.Acquired) news).handle();
      int before = work(outer);
      close(inner);
      close(outer);
      return before;
    }

    /** Waits, and gives up at once: an interrupt that may meet a grant. */
    @Operation
    public void interrupted() {
      Thread me = Thread.currentThread();
      Waiter waiter = new Waiter(me, OPTIONS, Claim.EXCLUSIVE);
      Waiter.News news = queue.enter(waiter, true);
      if (news == null && !queue.leave(waiter)) {
        news = waiter.news();
      }
      if (news instanceof Waiter.Acquired acquired) {
        close(acquired.handle());
      } else if (news != null) {
        queue.endLeading(waiter, null, false);
      }
    }

    private Handle await(Thread me) {
      Waiter waiter = new Waiter(me, OPTIONS, Claim.EXCLUSIVE);
      Waiter.News news = queue.enter(waiter, true);
      while (news == null) {
        LockSupport.park(this);
        news = waiter.news();
      }
      if (news instanceof Waiter.Acquired acquired) {
        return acquired.handle();
      }
      if (granted) {
        throw new AssertionError("Two threads ask the store, or one asks while another holds");
      }
      granted = true;
      return queue.granted(waiter, grant(++grants), 0);
    }

    private int work(Handle handle) {
      long token = handle.hold().token();
      if (token <= lastToken) {
        throw new AssertionError("The token fell from " + lastToken + " to " + token);
      }
      lastToken = token;
      int before = count;
      count = before + 1;
      return before;
    }

    void close(Handle handle) {
      Hold hold = handle.hold();
      HandOff once = hold.handOffs < 1 ? ALWAYS : HandOff.NEVER; // Then it is given back.
      if (hold.close(handle, Thread.currentThread(), once, 0) == Closing.TO_BE_RELEASED) {
        granted = false;
        gaveBack(hold);
      }
    }

    void gaveBack(Hold hold) {
      boolean unused = queue.endRelease(hold, null);
    }

    private ActiveGrant grant(long number) {
      return new ActiveGrant(
          new LincheckSetup.NumberedGrant(number),
          OPTIONS,
          LincheckSetup.START,
          LincheckSetup.STILL,
          new LincheckSetup.Nobody());
    }
  }

  @Test
  void sectionsDoNotOverlapAndNobodyWaitsForEver() {
    LincheckSetup.options().check(Sections.class);
  }

  /** A holder that lets go does not pass the turn on: seen to fail. */
  public static class Forgetful extends Sections {
    public Forgetful() {}

    @Override
    void gaveBack(Hold hold) {}
  }

  /** A holder that lets go says so before it did: seen to fail. */
  public static class Hasty extends Sections {
    public Hasty() {}

    @Override
    void close(Handle handle) {
      if (handle.hold().close(handle, Thread.currentThread(), HandOff.NEVER, 0)
          == Closing.TO_BE_RELEASED) {
        gaveBack(handle.hold());
        granted = false;
      }
    }
  }

  @Test
  void aLostTurnIsFound() {
    Assertions.assertThrows(
        AssertionError.class, () -> LincheckSetup.options().check(Forgetful.class));
  }

  @Test
  void aTurnThatIsPassedOnTooEarlyIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> LincheckSetup.options().check(Hasty.class));
  }
}
