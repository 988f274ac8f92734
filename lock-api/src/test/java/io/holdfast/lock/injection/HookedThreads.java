package io.holdfast.lock.injection;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/** The threads of one engine: making one is a call out, and so is starting it. */
final class HookedThreads {
  private final CallsOut calls;
  private final Collection<Thread> made = new ConcurrentLinkedQueue<>();
  private final Collection<Throwable> deaths = new ConcurrentLinkedQueue<>();

  HookedThreads(CallsOut calls) {
    this.calls = calls;
  }

  /** All that were made. */
  List<Thread> made() {
    return List.copyOf(made);
  }

  /** The throwables that threads of the engine died of. */
  List<Throwable> deaths() {
    return List.copyOf(deaths);
  }

  ThreadFactory around(ThreadFactory factory) {
    return task -> {
      Thread thread = factory.newThread(task);
      String sort = CallsOut.sort(thread.getName());
      calls.at("ThreadFactory.newThread(" + sort + ")");
      return new HookedThread(thread, sort);
    };
  }

  /** A user's executor, which has a thread for each task. */
  Executor executor() {
    return task -> {
      try {
        calls.at("Executor.execute");
      } catch (Fault.Dropped e) {
        return;
      }
      Thread thread = new Thread(task, "executor");
      thread.setDaemon(true);
      made.add(thread);
      thread.start();
      calls.at("Executor.execute, done");
    };
  }

  private final class HookedThread extends Thread {
    private final String sort;

    HookedThread(Thread thread, String sort) {
      super(null, thread, thread.getName(), 0, false);
      this.sort = sort;
      setDaemon(true);
      made.add(this);
    }

    @Override
    @SuppressWarnings("UnsynchronizedOverridesSynchronized") // The other is called in it.
    public void start() {
      calls.at("Thread.start(" + sort + ")");
      super.start();
    }

    @Override
    public void run() {
      calls.enter();
      try {
        super.run();
      } catch (Throwable e) {
        deaths.add(e);
      }
    }
  }
}
