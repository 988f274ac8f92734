package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The parent's end of a {@link Worker}. */
final class WorkerProcess implements AutoCloseable {
  private final Task task;
  private final WorkerLog log;
  private final Process process;
  private long frozenAt;

  private WorkerProcess(Task task, WorkerLog log, Process process) {
    this.task = task;
    this.log = log;
    this.process = process;
  }

  /** @param output where what it says goes */
  static WorkerProcess start(Task task, Path output) throws IOException {
    WorkerLog log = WorkerLog.map(task.log());
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-cp",
        // Surefire may start its JVM with one jar that names the others.
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        Worker.class.getName()));
    command.addAll(task.arguments());
    File file = output.toFile();
    Process process = new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(file))
        .redirectError(ProcessBuilder.Redirect.appendTo(file))
        .start();
    return new WorkerProcess(task, log, process);
  }

  Task task() {
    return task;
  }

  void order(Order order) {
    log.order(order);
  }

  /** Zero: not yet. */
  long noted(Note note) {
    return log.noted(note);
  }

  List<Attempt> attempts() {
    return log.read(task.worker(), task.life());
  }

  boolean isAlive() {
    return process.isAlive();
  }

  void freeze() throws IOException, InterruptedException {
    signal("STOP");
    frozenAt = System.nanoTime();
  }

  /**
   * Goes on, with a monotonic clock that stood still. It stops a little late and never goes back.
   */
  void resume() throws IOException, InterruptedException {
    log.note(Note.SUSPENDED_NANOS, log.noted(Note.SUSPENDED_NANOS) + System.nanoTime() - frozenAt);
    thaw();
  }

  void setClock(long aheadMillis) {
    log.note(Note.WALL_AHEAD_MILLIS, aheadMillis);
  }

  void thaw() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    if (process.isAlive()) {
      new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
          .start()
          .waitFor();
    }
  }

  /** To its output, for whoever looks into what it waits for. */
  void dumpThreads() throws IOException, InterruptedException {
    signal("QUIT");
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  boolean awaitEnd(long seconds) throws InterruptedException {
    return process.waitFor(seconds, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
