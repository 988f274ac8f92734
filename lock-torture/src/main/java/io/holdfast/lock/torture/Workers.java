package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The workers of a schedule, each with the processes that it has had.
 *
 * <p>Threads: one at a time for each worker.
 */
final class Workers implements AutoCloseable {
  /** What a worker is told; the number of its life and the time are filled in. */
  interface Tasks extends IntFunction<Task> {}

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
    Task task = tasks.apply(worker);
    String name = "worker-" + worker + "-" + life;
    before.add(WorkerProcess.start(
        new Task(
            task.store(),
            task.servers(),
            task.ways(),
            worker,
            life,
            task.seed(),
            System.nanoTime(),
            task.wrong(),
            folder.resolve(name + ".map"),
            task.names()),
        folder.resolve(name + ".out")));
  }

  void kill(int worker) throws InterruptedException {
    last(worker).kill();
  }

  void freeze(int worker) throws IOException, InterruptedException {
    last(worker).freeze();
  }

  void thaw(int worker) throws IOException, InterruptedException {
    last(worker).thaw();
  }

  /** After a freeze: as if the machine had been suspended meanwhile. */
  void resume(int worker) throws IOException, InterruptedException {
    last(worker).resume();
  }

  void setClock(int worker, long aheadMillis) {
    last(worker).setClock(aheadMillis);
  }

  /** Those that live. */
  List<WorkerProcess> living() {
    List<WorkerProcess> living = new ArrayList<>();
    for (int worker = 0; worker < lives.size(); worker++) {
      living.add(last(worker));
    }
    return living;
  }

  private WorkerProcess last(int worker) {
    List<WorkerProcess> all = lives.get(worker);
    return all.get(all.size() - 1);
  }

  void order(Order order) {
    living().forEach(process -> process.order(order));
  }

  /** Whether all that live have noted this. */
  boolean haveNoted(Note note) {
    return living().stream().allMatch(process -> process.noted(note) != 0);
  }

  /** What all processes saw, those that were killed included. */
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
