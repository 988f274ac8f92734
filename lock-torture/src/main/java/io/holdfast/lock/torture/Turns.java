package io.holdfast.lock.torture;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Entry;
import io.holdfast.lock.torture.WorkerLog.Field;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * One thread of a worker: takes one lock after the other, looks all the time whether it has it, and
 * notes what it sees.
 */
final class Turns implements Runnable {
  private static final long LOOK_NANOS_MAX = 1_000_000;
  private static final long PAUSE_NANOS_MAX = 20_000_000;
  private static final Duration RECOVERY_WAIT = Duration.ofSeconds(2);

  /** For {@link Wrong#FALLING_TOKENS}. */
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
        turn(random.nextInt(task.names().size()), Call.any(random), false, holdNanos());
        LockSupport.parkNanos(random.nextLong(PAUSE_NANOS_MAX));
      }
      recover();
    } catch (InterruptedException e) {
      complain(e); // Nobody interrupts us.
    }
  }

  private void recover() throws InterruptedException {
    Call call = new Call(Call.Way.LOCK_WITHIN, Call.Kind.RENEWED, Ownership.THREAD, RECOVERY_WAIT);
    for (int name = 0; name < task.names().size(); name++) {
      while (!turn(name, call, true, 0)) {
        if (log.ordered() == Order.END) {
          return;
        }
      }
    }
    recovered = true;
  }

  /** Mostly short; some longer than a fixed lease; a few longer than a TTL. */
  private long holdNanos() {
    int kind = random.nextInt(100);
    long millis = kind < 80
        ? random.nextLong(10)
        : kind < 94 ? random.nextLong(200) : kind < 99 ? random.nextLong(2_500) : 5_000;
    return millis * 1_000_000;
  }

  /** Whether the lock was had. */
  private boolean turn(int name, Call call, boolean recovery, long holdNanos)
      throws InterruptedException {
    Entry entry = log.begin();
    entry.set(Field.THREAD, thread);
    entry.set(Field.NAME, name);
    entry.set(Field.OPTIONS, call.code());
    entry.set(Field.RECOVERY, recovery ? 1 : 0);
    entry.set(Field.ASKED_AT, System.nanoTime());
    Optional<Lease> lease = Optional.empty();
    Answer answer;
    try {
      lease = call.on(client, task.names().get(name));
      answer = lease.isPresent() ? Answer.GRANTED : Answer.TAKEN;
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
    entry.set(Field.TOKEN, lease.map(this::token).orElse(0L));
    entry.set(Field.ANSWER, answer);
    if (lease.isPresent()) {
      try {
        hold(entry, lease.get(), call, holdNanos);
      } catch (RuntimeException | Error e) {
        complain(e);
        entry.set(Field.WRITE, Write.UNDOCUMENTED);
      }
      close(entry, lease.get());
    }
    return lease.isPresent();
  }

  private Answer undocumented(Throwable failure) {
    complain(failure);
    return Answer.UNDOCUMENTED;
  }

  private long token(Lease lease) {
    return task.wrong() == Wrong.FALLING_TOKENS ? COUNTED.incrementAndGet() : lease.token();
  }

  /** Looks until the time is over or the lease is. */
  private void hold(Entry entry, Lease lease, Call call, long holdNanos) {
    long end = System.nanoTime() + holdNanos;
    boolean asked = false;
    boolean asks = random.nextInt(8) == 0;
    boolean writes = task.store().hasGuards() && random.nextInt(4) == 0;
    while (true) {
      long before = System.nanoTime();
      if (!isHeld(lease)) {
        entry.set(Field.DOUBTED_AT, System.nanoTime());
        if (!asked && ensuresHeld(lease)) {
          asked = true; // Only a doubt; the store says that nobody had it meanwhile.
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
        write(entry, lease);
      } else if (asks && random.nextInt(20) == 0) {
        asks = false;
        ask(lease, call);
      } else {
        LockSupport.parkNanos(random.nextLong(LOOK_NANOS_MAX));
      }
    }
  }

  private static boolean ensuresHeld(Lease lease) {
    try {
      lease.ensureHeld();
      return true;
    } catch (LockLostException | LockStoreException e) {
      return false;
    }
  }

  /** Asks the store, which may be about to be broken; a fixed lease also gets more time. */
  private static void ask(Lease lease, Call call) {
    try {
      if (call.kind() == Call.Kind.FIXED) {
        lease.extend(StoreKind.FIXED_TTL);
      } else {
        lease.verify();
      }
    } catch (LockLostException | LockStoreException e) {
      // The next look tells.
    }
  }

  private boolean isHeld(Lease lease) {
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
    } catch (Exception e) {
      if (access.leavesOpen(e)) {
        end = Write.UNANSWERED;
      } else {
        complain(e);
        end = Write.UNDOCUMENTED;
      }
    }
    entry.set(Field.WRITE, end);
  }

  private void close(Entry entry, Lease lease) {
    entry.set(Field.CLOSE_BEGAN_AT, System.nanoTime());
    Closing closing;
    try {
      lease.close();
      closing = Closing.NORMAL;
    } catch (LockLostException e) {
      closing = task.wrong() == Wrong.IGNORE_LOSSES ? Closing.NORMAL : Closing.LOST;
    } catch (RuntimeException | Error e) {
      complain(e);
      closing = Closing.UNDOCUMENTED;
    }
    entry.set(Field.CLOSED_AT, System.nanoTime());
    entry.set(Field.CLOSING, closing);
    if (task.wrong() == Wrong.FREE_BY_NAME) {
      free(client.get(lease.name()));
    }
  }

  /** Whoever has it. */
  private static void free(DistributedLock lock) {
    try {
      lock.inspect().ifPresent(holder -> {
        boolean unused = lock.forceRelease(holder.token());
      });
    } catch (LockStoreException e) {
      // It stays as it is.
    }
  }

  /** Whoever looks into a violation needs the stack. */
  private void complain(Throwable failure) {
    synchronized (System.err) {
      System.err.println("UNDOCUMENTED in thread " + thread + " at " + System.nanoTime());
      failure.printStackTrace();
    }
  }
}
