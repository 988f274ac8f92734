package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * Limits the wait for a connection of an exhausted pool: pools wait for as long as they are
 * configured to, often 30 s. A thread that waits past its deadline is interrupted, and the
 * interrupt is cleared again before any other code can see it.
 *
 * <p>A borrow costs an entry in a concurrent set, and neither a switch between threads nor a timer.
 * The watching thread ticks while there are borrowers, and sleeps otherwise.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class PoolWatch implements AutoCloseable {
  private static final long TICK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long TICK_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(1);

  /**
   * The number of ticks without a borrower after which the watching thread sleeps until one comes.
   */
  private static final int IDLE_TICKS = 40;

  private final DataSource dataSource;
  private final long tickNanos;
  private final Set<Wait> waits = ConcurrentHashMap.newKeySet();
  private final Thread thread;
  private volatile boolean asleep;
  private volatile boolean closed;

  PoolWatch(DataSource dataSource, long storeTimeoutNanos, String threadName) {
    this.dataSource = dataSource;
    tickNanos = Math.max(TICK_NANOS_MIN, Math.min(TICK_NANOS_MAX, storeTimeoutNanos / 20));
    thread = new Thread(null, this::run, threadName, 0, false);
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Borrows a connection within the deadline. An interrupt from elsewhere does not end the wait;
   * its flag stays set.
   */
  Connection borrow(Deadline deadline) throws StoreException {
    return deadline.awaitUninterruptibly(leftNanos -> borrowOnce(deadline));
  }

  private Connection borrowOnce(Deadline deadline) throws StoreException, InterruptedException {
    Wait wait = new Wait(Thread.currentThread(), deadline);
    waits.add(wait);
    if (asleep) {
      LockSupport.unpark(thread);
    }
    Exception failure;
    boolean ours;
    try {
      return dataSource.getConnection();
    } catch (SQLException | RuntimeException e) {
      // Wrapped, since an IllegalStateException as the cause would mean an unfit data source.
      failure = e instanceof SQLException ? e : new SQLException(e);
    } finally {
      waits.remove(wait);
      ours = wait.end();
    }
    if (ours || deadline.isOver()) {
      throw none(deadline, failure);
    }
    if (Thread.interrupted()) {
      // The interrupt came from elsewhere and made the pool give up, so the pool is asked again.
      throw (InterruptedException) new InterruptedException().initCause(failure);
    }
    throw StoreException.refused("The data source gave no connection: " + failure, failure);
  }

  /** Makes the exception for a pool that gave no connection in time. */
  StoreException none(Deadline deadline, Exception cause) {
    return StoreException.refused(
        "The data source gave no connection within %s: %s"
            .formatted(deadline.whole(), PoolState.whyNone(dataSource)),
        cause);
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }

  /**
   * Watches until closed. Nothing that is thrown ends the thread, or late borrowers would wait on.
   */
  private void run() {
    while (!closed) {
      try {
        watch();
      } catch (Throwable e) { // A full heap: not even a line of the log can be made here.
        LockSupport.parkNanos(this, tickNanos);
      }
    }
  }

  private void watch() {
    int idleTicks = 0;
    while (!closed) {
      idleTicks++;
      for (Wait wait : waits) {
        idleTicks = 0;
        wait.interruptIfLate();
      }
      if (idleTicks < IDLE_TICKS) {
        LockSupport.parkNanos(this, tickNanos);
      } else {
        // A borrower adds itself and then reads the flag; this thread sets the flag and then looks
        // for borrowers. So at least one of the two sees the other.
        asleep = true;
        if (waits.isEmpty() && !closed) {
          LockSupport.park(this);
        }
        asleep = false;
        idleTicks = 0;
      }
    }
  }

  /** One thread that waits for the pool. Compared by identity; guarded by its monitor. */
  private static final class Wait {
    private final Thread borrower;
    private final Deadline deadline;
    private boolean interrupted;
    private boolean ended;

    Wait(Thread borrower, Deadline deadline) {
      this.borrower = borrower;
      this.deadline = deadline;
    }

    synchronized void interruptIfLate() {
      if (!ended && !interrupted && deadline.isOver()) {
        interrupted = true;
        borrower.interrupt();
      }
    }

    /**
     * Ends the wait and clears the watching thread's interrupt. An interrupt from elsewhere at the
     * same moment can't be distinguished and is cleared with it; any other stays set.
     *
     * @return whether the watching thread interrupted
     */
    synchronized boolean end() {
      ended = true;
      if (interrupted) {
        Thread.interrupted();
      }
      return interrupted;
    }
  }
}
