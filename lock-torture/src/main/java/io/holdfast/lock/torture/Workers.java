package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The workers of a schedule, each with the processes that it has had.
 *
 * <p>Threads: one at a time for each worker.
 */
final class Workers implements AutoCloseable {
  /** Makes the tasks of processes. */
  interface Tasks {
    /** Returns the task of a process that is started now. */
    Task of(int worker, int life, Path log);
  }

  private final Tasks tasks;
  private final Path folder;
  private final List<List<WorkerProcess>> lives = new ArrayList<>();

  Workers(int count, Tasks tasks, Path folder) {
    this.tasks = tasks;
    this.folder = folder;
    for (int i = 0; i < count; i++) {
      lives.add(new ArrayList<>());
    }
  }

  void startAll() throws IOException {
    for (int worker = 0; worker < lives.size(); worker++) {
      start(worker);
    }
  }

  void start(int worker) throws IOException {
    List<WorkerProcess> before = lives.get(worker);
    int life = before.size();
    String name = "worker-" + worker + "-" + life;
    Task task = tasks.of(worker, life, folder.resolve(name + ".map"));
    before.add(WorkerProcess.start(task, folder.resolve(name + ".out")));
  }

  /** Ends a shortage. A process whose JVM itself had no memory has ended, and is started anew. */
  void feed(int worker) throws IOException, InterruptedException {
    if (last(worker).isAlive()) {
      last(worker).feed();
    } else {
      start(worker);
    }
  }

  /** Returns the latest process of each worker. */
  List<WorkerProcess> living() {
    List<WorkerProcess> living = new ArrayList<>();
    for (int worker = 0; worker < lives.size(); worker++) {
      living.add(last(worker));
    }
    return living;
  }

  /** Returns the latest process of a worker. */
  WorkerProcess last(int worker) {
    List<WorkerProcess> all = lives.get(worker);
    return all.get(all.size() - 1);
  }

  void order(Order order) {
    living().forEach(process -> process.order(order));
  }

  /** Whether the latest process of each worker has noted this. */
  boolean haveNoted(Note note) {
    return living().stream().allMatch(process -> process.noted(note) != 0);
  }

  /** Returns what all processes saw, including those that were killed. */
  List<Attempt> attempts() {
    return lives.stream()
        .flatMap(List::stream)
        .flatMap(p -> p.attempts().stream())
        .toList();
  }

  @Override
  public void close() {
    lives.stream().flatMap(List::stream).forEach(WorkerProcess::close);
  }
}
