package io.holdfast.lock.torture;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Entry;
import io.holdfast.lock.torture.WorkerLog.Field;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One thread of a worker: takes one lock after the other, checks all the time whether it holds it,
 * and records that. Memory and threads may be used up, so nothing is allocated between a step and
 * its record, and a lease is closed again until that succeeds.
 */
final class Turns implements Runnable {
  private static final long LOOK_NANOS_MAX = 1_000_000;
  private static final long PAUSE_NANOS_MAX = 20_000_000;
  private static final Duration RECOVERY_WAIT = Duration.ofSeconds(2);

  /** The time after a shortage in which an OutOfMemoryError may still come. */
  private static final long STARVED_NANOS_MORE = 3_000_000_000L;

  /** The tokens of {@link Wrong#FALLING_TOKENS}. */
  private static final AtomicLong COUNTED = new AtomicLong();

  private final Task task;
  private final int thread;
  private final WorkerLog log;
  private final Access access;
  private final LockClient client;
  private final Random random;
  private volatile boolean recovered;

  Turns(Task task, int thread, WorkerLog log, Access access, LockClient client) {
    this.task = task;
    this.thread = thread;
    this.log = log;
    this.access = access;
    this.client = client;
    this.random = new Random(((task.seed() * 31 + task.worker()) * 31 + task.life()) * 31 + thread);
  }

  /** Whether it got every name after the last fault. */
  boolean hasRecovered() {
    return recovered;
  }

  @Override
  public void run() {
    try {
      while (log.ordered() == Order.WORK) {
        try {
          Call call = Call.any(random, client);
          turn(random.nextInt(names(call.kind())), call, false, holdNanos());
        } catch (OutOfMemoryError | LinkageError e) {
          boolean unused = starved(e); // With no lease in hand.
        }
        LockSupport.parkNanos(random.nextLong(PAUSE_NANOS_MAX));
      }
      recover();
    } catch (InterruptedException e) {
      complain(e); // Nobody interrupts us.
    }
  }

  /** Returns how many names are asked for: of semaphores one, or each would be free. */
  private int names(Call.Kind kind) {
    return kind == Call.Kind.PERMIT ? 1 : task.names().size();
  }

  private void recover() throws InterruptedException {
    if (recoversAll(Call.Kind.RENEWED)
        && (!(client instanceof SemaphoreClient) || recoversAll(Call.Kind.PERMIT))) {
      recovered = true;
    }
  }

  /** Gets every name once; returns whether it did before it was ordered to end. */
  private boolean recoversAll(Call.Kind kind) throws InterruptedException {
    Call call = new Call(Call.Way.LOCK_WITHIN, kind, Ownership.THREAD, RECOVERY_WAIT);
    for (int name = 0; name < names(kind); name++) {
      while (!recovers(name, call)) {
        if (log.ordered() == Order.END) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean recovers(int name, Call call) throws InterruptedException {
    try {
      return turn(name, call, true, 0);
    } catch (OutOfMemoryError | LinkageError e) {
      boolean unused = starved(e); // The last fault may have been a full heap.
      return false;
    }
  }

  /** Whether an OutOfMemoryError is expected. */
  private boolean isStarved() {
    return log.noted(Note.HEAP_IS_FULL) != 0
        || isLately(log.noted(Note.HEAP_FREED_AT))
        || isLately(log.noted(Note.STARVED_UNTIL));
  }

  private static boolean isLately(long at) {
    return at != 0 && System.nanoTime() - at < STARVED_NANOS_MORE;
  }

  /** Whether the expected shortage is the cause; prints any other failure. */
  private boolean starved(Throwable failure) {
    if (isStarved() && lacksMemory(failure)) {
      return true;
    }
    complain(failure);
    return false;
  }

  /**
   * Whether the cause is want of memory: the JVM then reports a class that it could not link as a
   * LinkageError.
   */
  private static boolean lacksMemory(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof OutOfMemoryError) {
        return true;
      }
    }
    return false;
  }

  /** Returns a time to hold a lock: mostly short, some above a fixed TTL, a few above any TTL. */
  private long holdNanos() {
    int kind = random.nextInt(100);
    long millis = kind < 80
        ? random.nextLong(10)
        : kind < 94 ? random.nextLong(200) : kind < 99 ? random.nextLong(2_500) : 5_000;
    return millis * 1_000_000;
  }

  /** Makes one attempt; returns whether it got the lock. */
  private boolean turn(int name, Call call, boolean recovery, long holdNanos)
      throws InterruptedException {
    Entry entry = log.begin();
    entry.set(Field.THREAD, thread);
    entry.set(Field.NAME, call.kind() == Call.Kind.PERMIT ? numberOf(0) : name);
    entry.set(Field.OPTIONS, call.code());
    entry.set(Field.RECOVERY, recovery ? 1 : 0);
    entry.set(Field.MAX_WAIT_MILLIS, call.maxWaitMillis());
    entry.set(Field.MIN_HOLD_MILLIS, call.minHoldMillis());
    long stalledNanos = log.noted(Note.STALLED_NANOS);
    boolean starved = isStarved();
    entry.set(Field.ASKED_AT, System.nanoTime());
    @Nullable AnyLease lease = null;
    Answer answer;
    try {
      lease = call.on(client, task.names().get(name));
      answer = lease == null ? Answer.TAKEN : Answer.GRANTED;
    } catch (LockTimeoutException e) {
      answer = Answer.TAKEN;
    } catch (LockStoreException e) {
      answer = Answer.STORE_FAILED;
    } catch (LockClientClosedException e) {
      answer = log.ordered() == Order.END ? Answer.STORE_FAILED : undocumented(e);
    } catch (RuntimeException | Error e) {
      answer = undocumented(e);
    }
    entry.set(Field.ANSWERED_AT, System.nanoTime());
    entry.set(
        Field.STALLED_NANOS,
        starved || isStarved()
            ? entry.get(Field.ANSWERED_AT) - entry.get(Field.ASKED_AT)
            : log.noted(Note.STALLED_NANOS) - stalledNanos);
    if (lease instanceof PermitLease one) {
      entry.set(Field.NAME, numberOf(one.permit()));
    }
    entry.set(Field.TOKEN, lease == null ? 0 : token(lease));
    entry.set(Field.ANSWER, answer);
    if (lease != null) {
      try {
        hold(entry, lease, call, name, holdNanos);
      } catch (RuntimeException | Error e) {
        if (!starved(e)) {
          entry.set(Field.WRITE, Write.UNDOCUMENTED);
        }
      }
      close(entry, lease, task.names().get(name));
    }
    return lease != null;
  }

  /**
   * Returns the number of a permit, which has one holder at a time, as a name has, and tokens of
   * its own. One that the semaphore does not have counts as one that it has.
   */
  private int numberOf(int permit) {
    return task.names().size() + Math.floorMod(permit, Call.PERMITS);
  }

  private Answer undocumented(Throwable failure) {
    return starved(failure) ? Answer.STARVED : Answer.UNDOCUMENTED;
  }

  private long token(AnyLease lease) {
    return task.wrong() == Wrong.FALLING_TOKENS ? COUNTED.incrementAndGet() : tokenOf(lease);
  }

  private static long tokenOf(AnyLease lease) {
    return lease instanceof ReadLease read ? read.token() : ((Lease) lease).token();
  }

  /** Checks the lease until the time is over or the lease is. */
  private void hold(Entry entry, AnyLease lease, Call call, int name, long holdNanos) {
    long end = System.nanoTime() + holdNanos;
    boolean asked = false;
    boolean asks = random.nextInt(8) == 0;
    // A permit's tokens are not those of the name that is written to.
    boolean writes = task.store().hasGuards()
        && random.nextInt(4) == 0
        && lease instanceof Lease
        && call.kind() != Call.Kind.PERMIT;
    // A read that no thread owns, or a permit, may have another beside it, or not.
    boolean nests = random.nextInt(4) == 0
        && call.kind() != Call.Kind.PERMIT
        && (call.kind() != Call.Kind.READ || call.ownership() == Ownership.THREAD);
    while (true) {
      long before = System.nanoTime();
      if (!isHeld(lease)) {
        entry.set(Field.DOUBTED_AT, System.nanoTime());
        if (!asked && ensuresHeld(lease)) {
          asked = true; // It was only in doubt: the store has confirmed it.
          continue;
        }
        return;
      }
      if (entry.get(Field.BELIEVED_FROM) == 0) {
        entry.set(Field.BELIEVED_FROM, System.nanoTime());
      }
      entry.set(Field.BELIEVED_UNTIL, before);
      if (before - end >= 0 || log.ordered() == Order.END) {
        return;
      }
      if (writes && random.nextInt(4) == 0) {
        writes = false;
        write(entry, (Lease) lease);
      } else if (asks && random.nextInt(20) == 0) {
        asks = false;
        ask(lease, call);
      } else if (nests && random.nextInt(4) == 0) {
        nests = false;
        nest(entry, lease, call, task.names().get(name));
      } else {
        LockSupport.parkNanos(random.nextLong(LOOK_NANOS_MAX));
      }
    }
  }

  private static boolean ensuresHeld(AnyLease lease) {
    try {
      lease.ensureHeld();
      return true;
    } catch (LockLostException | LockStoreException e) {
      return false;
    }
  }

  /** Asks the store, which may be about to be broken; a fixed lease also gets more time. */
  private static void ask(AnyLease lease, Call call) {
    try {
      if (call.kind() == Call.Kind.FIXED) {
        lease.extend(StoreKind.FIXED_TTL);
      } else {
        lease.verify();
      }
    } catch (LockLostException | LockStoreException e) {
      // The next check tells.
    }
  }

  /** Asks for the lock once more, while this thread has it. */
  private void nest(Entry entry, AnyLease lease, Call call, String name) {
    @Nullable AnyLease nested = null;
    boolean answered = false;
    try {
      nested = call.lock(client, name).tryLock().orElse(null);
      answered = true;
    } catch (LockLostException | LockStoreException e) {
      // Correct if the lease was lost, which the next check tells.
    }
    boolean right = call.ownership() == Ownership.THREAD
        ? nested != null && tokenOf(nested) == tokenOf(lease)
        : answered && nested == null;
    if (lease.isHeld()) {
      entry.set(Field.NESTED, right ? Nested.RIGHT : Nested.WRONG);
    }
    if (nested != null) {
      closing(nested); // A loss is recorded when the outer one is closed.
    }
  }

  private boolean isHeld(AnyLease lease) {
    return lease.isHeld() || task.wrong() == Wrong.IGNORE_LOSSES;
  }

  private void write(Entry entry, Lease lease) {
    entry.set(Field.WRITE, Write.BEGUN);
    Write end;
    try {
      access.write(
          lease,
          new Written(
                  new Attempt.Id(task.worker(), task.life(), entry.index()), entry.get(Field.TOKEN))
              .text());
      end = Write.DONE;
    } catch (LockLostException e) {
      end = Write.REFUSED;
    } catch (Exception | Error e) {
      end = (e instanceof Exception failure && access.leavesOpen(failure)) || starved(e)
          ? Write.UNANSWERED
          : Write.UNDOCUMENTED;
    }
    entry.set(Field.WRITE, end);
  }

  private void close(Entry entry, AnyLease lease, String name) {
    entry.set(Field.CLOSE_BEGAN_AT, System.nanoTime());
    Closing closing = closing(lease);
    entry.set(Field.CLOSED_AT, System.nanoTime());
    entry.set(Field.CLOSING, closing);
    if (task.wrong() == Wrong.FREE_BY_NAME) {
      free(client.get(name));
    }
  }

  /** Closes a lease, again and again while there is no memory for it. */
  private Closing closing(AnyLease lease) {
    boolean starved = false;
    while (true) {
      try {
        lease.close();
        return starved ? Closing.STARVED : Closing.NORMAL;
      } catch (LockLostException e) {
        return task.wrong() == Wrong.IGNORE_LOSSES ? Closing.NORMAL : Closing.LOST;
      } catch (RuntimeException | Error e) {
        if (!starved(e)) {
          return Closing.UNDOCUMENTED;
        }
        starved = true;
        LockSupport.parkNanos(PAUSE_NANOS_MAX);
      }
    }
  }

  /** Takes the lock from its holder, if it has one. */
  private static void free(DistributedLock lock) {
    try {
      lock.inspect().ifPresent(holder -> {
        boolean unused = lock.forceRelease(holder.token());
      });
    } catch (LockStoreException e) {
      // It stays as it is.
    }
  }

  /** Prints the failure with its stack, which is needed to look into a violation. */
  private void complain(Throwable failure) {
    synchronized (System.err) {
      try {
        System.err.println("UNDOCUMENTED in thread " + thread + " at " + System.nanoTime());
        failure.printStackTrace();
      } catch (OutOfMemoryError | LinkageError e) {
        // The judge still reports the attempt.
      }
    }
  }
}
