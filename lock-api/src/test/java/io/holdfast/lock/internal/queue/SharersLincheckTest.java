package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The readers of a queue under all interleavings of a few threads that Lincheck can think of: a
 * grant is released once, after the last of those who share it has left, and nobody reads under one
 * that was released. A thread that waits for ever fails, too.
 */
@Timeout(600) // Lincheck's threads spin: slow where others keep the machine busy
class SharersLincheckTest {
  private static final int GRANTS_MAX = 64;

  /** Threads that read as the client does, with a store that grants at once. */
  public static class Readers {
    private static final LockOptions OPTIONS = LockOptions.defaults();
    final WaitQueue queue =
        new WaitQueue(new LockKey(LockKind.READ, "lincheck"), Sharing.BOUNDED, hold -> {});

    /** By the numbers of the grants; guarded by this object. */
    private final int[] readers = new int[GRANTS_MAX];

    private final boolean[] released = new boolean[GRANTS_MAX];
    private int grants;

    public Readers() {}

    /** Reads, perhaps with others. */
    @Operation
    public void read() {
      Handle handle = await(Thread.currentThread());
      begin(handle);
      end(handle);
    }

    /** With a read in the read. */
    @Operation
    public void nested() {
      Thread me = Thread.currentThread();
      Handle outer = await(me);
      begin(outer);
      Entry entry = queue.enter(new Waiter(me, OPTIONS), true);
      Handle inner = ((Entry.Reentered) entry).handle();
      close(outer);
      end(inner);
    }

    /** Waits, and gives up at once: an interrupt that may meet a grant. */
    @Operation
    public void interrupted() {
      Waiter waiter = new Waiter(Thread.currentThread(), OPTIONS);
      Entry entry = queue.enter(waiter, true);
      if (entry instanceof Entry.Leads) {
        queue.endLeading(waiter, false, null);
      } else if (!queue.leave(waiter)) {
        if (waiter.news() instanceof Waiter.LetIn letIn) {
          close(letIn.handle());
        } else {
          queue.endLeading(waiter, false, null);
        }
      }
    }

    private Handle await(Thread me) {
      Waiter waiter = new Waiter(me, OPTIONS);
      Entry entry = queue.enter(waiter, true, queue.joinable(OPTIONS, 0), 0);
      if (entry instanceof Entry.Joined joined) {
        return joined.handle();
      }
      if (entry instanceof Entry.Queued) {
        Waiter.News news = waiter.news();
        while (news == null) {
          LockSupport.park(this);
          news = waiter.news();
        }
        if (news instanceof Waiter.LetIn letIn) {
          return letIn.handle();
        }
      }
      return queue.granted(waiter, grant());
    }

    private synchronized ActiveGrant grant() {
      return new ActiveGrant(
          new LincheckSetup.NumberedGrant(++grants),
          OPTIONS,
          LincheckSetup.START,
          LincheckSetup.STILL,
          new LincheckSetup.Nobody());
    }

    private static int number(Handle handle) {
      return (int) handle.hold().grant().grant().number();
    }

    private synchronized void begin(Handle handle) {
      readers[number(handle)]++;
      if (released[number(handle)]) {
        throw new AssertionError("Reads under grant " + number(handle) + ", which was released");
      }
    }

    private void end(Handle handle) {
      synchronized (this) {
        readers[number(handle)]--;
      }
      close(handle);
    }

    private void close(Handle handle) {
      if (queue.close(handle, Thread.currentThread(), HandOff.NEVER, 0) == Closing.TO_BE_RELEASED) {
        if (releases(handle.hold())) {
          release(number(handle));
        }
        boolean unused = queue.endRelease(handle.hold(), null);
      }
    }

    /** Whether the store is told. */
    boolean releases(Hold hold) {
      return !hold.leavesGrant();
    }

    private synchronized void release(int number) {
      if (readers[number] > 0) {
        throw new AssertionError("Grant " + number + " is released under its readers");
      }
      if (released[number]) {
        throw new AssertionError("Grant " + number + " is released twice");
      }
      released[number] = true;
    }
  }

  @Test
  void aGrantIsReleasedOnceAndByTheLastOfItsReaders() {
    LincheckSetup.options().check(Readers.class);
  }

  /** Each reader that leaves releases what it shared: seen to fail. */
  public static class Hasty extends Readers {
    public Hasty() {}

    @Override
    boolean releases(Hold hold) {
      return true;
    }
  }

  @Test
  void aReleaseUnderTheOthersIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> LincheckSetup.options().check(Hasty.class));
  }
}
