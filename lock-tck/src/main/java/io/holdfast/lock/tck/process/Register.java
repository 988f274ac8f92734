package io.holdfast.lock.tck.process;

import io.holdfast.lock.Lease;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A record of who is inside a read-write lock and a semaphore, in memory that several processes
 * share. Each thread has a seat of its own. What it says there binds until its lease would end,
 * even if its process was killed: until then the store has promised the lock to it.
 *
 * <p>Relies on {@link System#nanoTime} having the same origin in all processes of a machine, as it
 * has on Linux.
 *
 * <p>Threads: each seat is for one thread, all else is for any.
 */
final class Register {
  /** The number of permits of the semaphore. */
  static final int PERMITS = 3;

  /** The parts of a lock that a lease can be of. */
  enum Right {
    READ(1),
    WRITE(2),
    PERMIT_0(3),
    PERMIT_1(4),
    PERMIT_2(5);

    private final int code;

    Right(int code) {
      this.code = code;
    }

    private static Right of(long code) {
      return Arrays.stream(values())
          .filter(one -> one.code == code)
          .findFirst()
          .orElseThrow(() -> new AssertionError("No right has code " + code));
    }

    static Right permit(Lease lease) {
      return of(PERMIT_0.code + lease.permit());
    }

    /** Whether two holders exclude each other. */
    boolean excludes(Right other) {
      return this == other ? this != READ : isOfReadWriteLock() && other.isOfReadWriteLock();
    }

    private boolean isOfReadWriteLock() {
      return this == READ || this == WRITE;
    }
  }

  private static final int SEATS = 4_096;

  /** The part of a token that is above zero for a lease that was handed on within a client. */
  private static final int HAND_OFFS = 1_023;

  // Places in the memory, in longs. Tokens and turns are by the rights' codes.
  private static final int TOKENS = 0;
  private static final int TURNS = 8;
  private static final int CRASH_BOUND = 16;
  private static final int RIGHTS = 32;
  private static final int ENDS = RIGHTS + SEATS;
  private static final int SIZE = ENDS + SEATS;

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer memory;

  Register(Path file) {
    try (FileChannel channel = FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      memory = channel
          .map(FileChannel.MapMode.READ_WRITE, 0, (long) SIZE * Long.BYTES)
          .order(ByteOrder.nativeOrder());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Takes note that a thread has a lease; returns what is wrong with that, if anything. */
  @Nullable
  String enter(int seat, Right right, Lease lease) {
    long asked = System.nanoTime();
    set(ENDS + seat, asked + lease.remaining().toNanos());
    set(RIGHTS + seat, right.code);
    raise(CRASH_BOUND, lease.crashBound().toNanos());
    String wrong = beside(seat, right);
    if (wrong == null) {
      wrong = stale(right, lease.token());
    }
    if ((lease.token() & HAND_OFFS) == 0) {
      add(TURNS + right.code);
    }
    // Of a lease that ended meanwhile all this may be true.
    return wrong == null || !lease.isHeld() ? null : wrong;
  }

  /** Takes note that a thread is about to close its lease. */
  void leave(int seat) {
    set(RIGHTS + seat, 0);
  }

  private @Nullable String beside(int seat, Right right) {
    for (int other = 0; other < SEATS; other++) {
      @Nullable Right theirs = right(other);
      if (other != seat && theirs != null && theirs.excludes(right)) {
        long leftNanos = get(ENDS + other) - System.nanoTime();
        if (leftNanos > 0) {
          return "seat " + seat + " has " + right + " while seat " + other + " has " + theirs
              + ", for another " + Duration.ofNanos(leftNanos);
        }
      }
    }
    return null;
  }

  /** A reader's token need only be above those of earlier writers. */
  private @Nullable String stale(Right right, long token) {
    long before = get(TOKENS + (right == Right.READ ? Right.WRITE : right).code);
    if (right == Right.WRITE) {
      before = Math.max(before, get(TOKENS + Right.READ.code));
    }
    raise(TOKENS + right.code, token);
    return token > before ? null : right + " has token " + token + " after " + before;
  }

  private @Nullable Right right(int seat) {
    long code = get(RIGHTS + seat);
    return code == 0 ? null : Right.of(code);
  }

  /** Returns what the threads in these seats have, or had when they were killed. */
  Set<Right> held(int firstSeat, int seats) {
    Set<Right> held = EnumSet.noneOf(Right.class);
    for (int seat = firstSeat; seat < firstSeat + seats; seat++) {
      @Nullable Right right = right(seat);
      if (right != null) {
        held.add(right);
      }
    }
    return held;
  }

  /** Returns how often the store gave this right so far: leases that were handed on don't count. */
  long turns(Right right) {
    return get(TURNS + right.code);
  }

  /** Returns the greatest crash bound of all leases so far. */
  Duration crashBound() {
    return Duration.ofNanos(get(CRASH_BOUND));
  }

  private long get(int index) {
    return (long) LONGS.getVolatile(memory, index * Long.BYTES);
  }

  private void set(int index, long value) {
    LONGS.setVolatile(memory, index * Long.BYTES, value);
  }

  private void add(int index) {
    long unused = (long) LONGS.getAndAdd(memory, index * Long.BYTES, 1L);
  }

  private void raise(int index, long value) {
    for (long now = get(index); now < value; now = get(index)) {
      if (LONGS.compareAndSet(memory, index * Long.BYTES, now, value)) {
        return;
      }
    }
  }
}
