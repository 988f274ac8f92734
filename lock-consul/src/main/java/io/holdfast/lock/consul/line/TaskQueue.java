package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue of tasks of one kind, each to be done from a given time on. A task that fails is due
 * again about a second after it was begun: at once, if it took longer than that. Thread-safe.
 */
public final class TaskQueue<T> {
  private static final Logger log = LoggerFactory.getLogger(TaskQueue.class);

  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final TimeSource time;
  private final int atOnce;
  private final Work<T> work;
  private final Map<Object, Task<T>> tasks = new ConcurrentHashMap<>();
  private final AtomicBoolean underWay = new AtomicBoolean();

  /** The work on some tasks together. */
  public interface Work<T> {
    void on(List<T> tasks) throws StoreException;
  }

  private record Task<T>(T what, long dueNanos) {}

  /** @param atOnce the most tasks that are done together */
  public TaskQueue(TimeSource time, int atOnce, Work<T> work) {
    this.time = time;
    this.atOnce = atOnce;
    this.work = work;
  }

  /** Adds a task, unless it is there already. */
  public void add(T task, long dueNanos) {
    add(task, task, dueNanos);
  }

  /** Adds a task, unless there is one with that key. */
  public void add(Object key, T what, long dueNanos) {
    tasks.putIfAbsent(key, new Task<>(what, dueNanos));
  }

  /** Adds a task, in place of any with that key. */
  public void put(Object key, T what, long dueNanos) {
    tasks.put(key, new Task<>(what, dueNanos));
  }

  @Nullable
  public T get(Object key) {
    Task<T> task = tasks.get(key);
    return task == null ? null : task.what();
  }

  public void remove(Object key) {
    tasks.remove(key);
  }

  /** Returns all tasks, due or not. */
  public List<T> all() {
    return tasks.values().stream().map(Task::what).toList();
  }

  public boolean isSomethingDue() {
    return !due().isEmpty();
  }

  /** Returns the keys of the tasks that are due, those due longest first. */
  private List<Object> due() {
    long nowNanos = time.nanos();
    return tasks.entrySet().stream()
        .filter(one -> nowNanos - one.getValue().dueNanos() >= 0)
        .sorted(Comparator.comparingLong(one -> one.getValue().dueNanos() - nowNanos))
        .map(Map.Entry::getKey)
        .toList();
  }

  /**
   * Begins to do the tasks that are due, unless that is under way. Each queue is worked off by
   * itself, so that none is kept waiting by another.
   *
   * @param executor runs a task on another thread
   */
  public void begin(Executor executor) {
    if (underWay.get() || !isSomethingDue()) {
      return;
    }
    executor.execute(() -> {
      if (!underWay.compareAndSet(false, true)) {
        return;
      }
      try {
        workOff();
      } catch (StoreException e) {
        log.debug("A task could not be done; again later", e);
      } catch (RuntimeException | Error e) {
        log.error("A task could not be done; again later", e);
      } finally {
        underWay.set(false);
      }
    });
  }

  /** Does the tasks that are due, those due longest first, until one fails. The rest stays due. */
  public void workOff() throws StoreException {
    for (List<Object> some : Transaction.parts(due(), atOnce)) {
      // A task is put off before it is done: if it throws, the others come first the next time.
      Map<Object, Task<T>> begun = new HashMap<>();
      for (Object key : some) {
        Task<T> again = tasks.computeIfPresent(
            key, (same, task) -> new Task<>(task.what(), time.nanos() + retryNanos()));
        if (again != null) {
          begun.put(key, again);
        }
      }
      if (!begun.isEmpty()) {
        work.on(begun.values().stream().map(Task::what).toList());
      }
      // A task that was put in its place meanwhile stays.
      begun.forEach(tasks::remove);
    }
  }

  /** Returns half a second to one and a half at random, so that clients do not retry in step. */
  public static long retryNanos() {
    return RETRY_NANOS / 2 + ThreadLocalRandom.current().nextLong(RETRY_NANOS);
  }
}
