package io.holdfast.lock.simulation;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** A process that has no more threads for a while, as when it reached its limit. */
public final class ScarceThreads {
  private final AtomicInteger refused = new AtomicInteger();
  private volatile boolean exhausted;

  /** Since JDK 19 a pool starts its threads without {@link Thread#start}. */
  private static final boolean POOLS_CALL_START = Runtime.version().feature() < 19;

  /** A factory whose threads can't be started meanwhile. */
  public ThreadFactory factory(ThreadFactory usual) {
    return task -> {
      if (!exhausted) {
        return usual.newThread(task);
      }
      if (!POOLS_CALL_START) {
        throw refusal();
      }
      return new Thread(task) {
        @SuppressWarnings("UnsynchronizedOverridesSynchronized") // It changes nothing.
        @Override
        public void start() {
          throw refusal();
        }
      };
    };
  }

  private OutOfMemoryError refusal() {
    refused.incrementAndGet();
    return new OutOfMemoryError("unable to create native thread");
  }

  /** From now on there are none. */
  public void runOut() {
    exhausted = true;
  }

  /** From now on there are enough. */
  public void recover() {
    exhausted = false;
  }

  /** The number of threads that could not be started so far. */
  public int refused() {
    return refused.get();
  }

  /** Waits until one could not be started. */
  public void awaitRefusal() {
    Eventually.await("a thread that can't be started", () -> refused.get() > 0);
  }
}
