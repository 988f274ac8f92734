package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The local line under all interleavings of a few threads that Lincheck can think of: a section is
 * an operation, and the count of sections must be that of some order of them. A thread that waits
 * for ever, and a second holder, fail too.
 */
@Timeout(600) // Lincheck's threads spin: slow where others keep the machine busy
class LineLincheckTest {
  private static final LockKey KEY = new LockKey(LockKind.MUTEX, "lincheck");

  /** What talks to the line as the client does, with a store that grants at once. */
  public static class Sections {
    private static final LockOptions OPTIONS = LockOptions.defaults();
    final Line line = new Line(KEY);
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
      Line.Entry entry = line.enter(me, OPTIONS, true);
      Handle inner = ((Line.Reentered) entry).handle();
      int before = work(outer);
      close(inner);
      close(outer);
      return before;
    }

    /** Waits, and gives up at once: an interrupt that may meet a grant. */
    @Operation
    public void interrupted() {
      Thread me = Thread.currentThread();
      Line.Entry entry = line.enter(me, OPTIONS, true);
      if (entry instanceof Line.AskStore) {
        line.doneTalking();
      } else {
        Waiter waiter = ((Line.InLine) entry).waiter();
        if (!line.leave(waiter)) {
          Waiter.News news = waiter.news();
          if (news instanceof Waiter.HandedOn handedOn) {
            close(handedOn.handle());
          } else {
            line.doneTalking();
          }
        }
      }
    }

    private Handle await(Thread me) {
      Line.Entry entry = line.enter(me, OPTIONS, true);
      if (entry instanceof Line.InLine inLine) {
        Waiter.News news = inLine.waiter().news();
        while (news == null) {
          LockSupport.park(this);
          news = inLine.waiter().news();
        }
        if (news instanceof Waiter.HandedOn handedOn) {
          return handedOn.handle();
        }
      }
      if (granted) {
        throw new AssertionError("Two threads ask the store, or one asks while another holds");
      }
      granted = true;
      return line.granted(tenure(++grants), me);
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
      if (line.close(handle, Thread.currentThread(), ONCE, 0) instanceof Line.GiveBack) {
        granted = false;
        gaveBack();
      }
    }

    void gaveBack() {
      line.doneTalking();
    }

    private Tenure tenure(long number) {
      return new Tenure(new NumberedGrant(number), OPTIONS, line, START, STILL, NOBODY);
    }
  }

  /** Handed on once, then given back. */
  private static final HandOff ONCE = (hold, next, nowNanos) -> hold.handOffs() < 1;

  /** A grant for {@link LockOptions#defaults()}. */
  record NumberedGrant(Claim claim, long number) implements Grant {
    NumberedGrant(long number) {
      this(new Claim(KEY, "attempt", Duration.ofSeconds(30), Duration.ZERO, "lincheck"), number);
    }

    @Override
    public Duration validFor() {
      return claim.ttl();
    }

    @Override
    public Duration crashBound() {
      return claim.ttl();
    }
  }

  /** A clock that stands still. */
  static final TimeSource STILL = new TimeSource() {
    @Override
    public long nanos() {
      return 0;
    }

    @Override
    public long wallMillis() {
      return 0;
    }

    @Override
    public void park(Object blocker, long nanos) {
      LockSupport.parkNanos(blocker, nanos);
    }
  };

  static final Moment START = new Moment(0, 0);

  private static final Tenure.Observer NOBODY = new Tenure.Observer() {
    @Override
    public void suspect(Tenure tenure) {}

    @Override
    public void uncertain(Tenure tenure) {}

    @Override
    public void confirmed(Tenure tenure) {}

    @Override
    public void lost(Tenure tenure, LeaseLoss.Reason reason) {}
  };

  static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .iterations(5)
        .invocationsPerIteration(150)
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(0)
        .minimizeFailedScenario(false);
  }

  @Test
  void sectionsDoNotOverlapAndNobodyWaitsForEver() {
    options().check(Sections.class);
  }

  /** Who lets go does not pass the turn on: seen to fail. */
  public static class Forgetful extends Sections {
    public Forgetful() {}

    @Override
    void gaveBack() {}
  }

  /** Who lets go says so before it did: seen to fail. */
  public static class Hasty extends Sections {
    public Hasty() {}

    @Override
    void close(Handle handle) {
      if (line.close(handle, Thread.currentThread(), HandOff.NEVER, 0) instanceof Line.GiveBack) {
        gaveBack();
        granted = false;
      }
    }
  }

  @Test
  void aLostTurnIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(Forgetful.class));
  }

  @Test
  void aTurnThatIsPassedOnTooEarlyIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(Hasty.class));
  }
}
