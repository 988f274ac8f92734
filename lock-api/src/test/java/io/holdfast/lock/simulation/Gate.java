package io.holdfast.lock.simulation;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A place where a call to the store stops until the test lets it go on. */
public final class Gate {
  private static final long DEADLINE_SECONDS = 30;

  private static final Set<Thread> STOPPED = ConcurrentHashMap.newKeySet();

  private final Set<Thread> here = ConcurrentHashMap.newKeySet();
  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch opened = new CountDownLatch(1);
  private volatile @Nullable Throwable failure;

  /** Returns when a call has come to this gate. */
  public void awaitCall() {
    Eventually.await("a call at the gate", () -> reached.getCount() == 0);
  }

  /** Whether a call has come to this gate. */
  public boolean isReached() {
    return reached.getCount() == 0;
  }

  /** The number of threads of such a name that stop at gates. */
  static long stopped(String threadName) {
    return STOPPED.stream()
        .filter(thread -> thread.getName().startsWith(threadName))
        .count();
  }

  /** Lets the call go on. */
  public void open() {
    goOn();
  }

  /** Lets the call fail. */
  public void openWith(Throwable throwable) {
    failure = throwable;
    goOn();
  }

  /** Whoever was here counts as running before the opener goes on. */
  private void goOn() {
    STOPPED.removeAll(here);
    opened.countDown();
  }

  /** Waits here, like a store that does not care for interrupts. */
  public void pass() throws Throwable {
    here.add(Thread.currentThread());
    if (opened.getCount() > 0) {
      STOPPED.add(Thread.currentThread());
    }
    reached.countDown();
    boolean interrupted = false;
    while (true) {
      try {
        if (!opened.await(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError("Nobody opened the gate");
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    STOPPED.remove(Thread.currentThread());
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    Throwable thrown = failure;
    if (thrown != null) {
      throw thrown;
    }
  }
}
