package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The parent's end of a {@link Worker}. */
final class WorkerProcess implements AutoCloseable {
  /** The address space that is left, too little for the stack of another thread. */
  private static final long LEFT_KIBIBYTES = 4 * 1024;

  /** The length of a shortage as noted at its beginning, until its end is known. */
  private static final long STARVED_NANOS_MAX = 3_600_000_000_000L;

  private final Task task;
  private final WorkerLog log;
  private final Process process;
  private long frozenAt;

  private WorkerProcess(Task task, WorkerLog log, Process process) {
    this.task = task;
    this.log = log;
    this.process = process;
  }

  /** @param output the file for its output */
  static WorkerProcess start(Task task, Path output) throws IOException {
    WorkerLog log = WorkerLog.map(task.log());
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(
        "-Xmx64m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        // So that one thread's stack is more than what is left of its address space.
        "-XX:ThreadStackSize=8192",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-cp",
        // Surefire may start its JVM with one jar that names the others.
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        Worker.class.getName()));
    command.addAll(task.arguments());
    File file = output.toFile();
    ProcessBuilder builder = new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(file))
        .redirectError(ProcessBuilder.Redirect.appendTo(file));
    builder.environment().put("MALLOC_ARENA_MAX", "1"); // All threads use one pool of memory.
    return new WorkerProcess(task, log, builder.start());
  }

  Task task() {
    return task;
  }

  void order(Order order) {
    log.order(order);
  }

  /** Returns a value of the worker; zero: not yet. */
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
   * Lets the process go on, with a monotonic clock that stood still meanwhile. The clock stops a
   * little late, and never goes back.
   */
  void resume() throws IOException, InterruptedException {
    log.note(Note.SUSPENDED_NANOS, log.noted(Note.SUSPENDED_NANOS) + System.nanoTime() - frozenAt);
    thaw();
  }

  void fillHeap() {
    log.note(Note.STARVED_UNTIL, System.nanoTime() + STARVED_NANOS_MAX);
    log.note(Note.FILL_HEAP, 1);
  }

  /** Leaves no room for another thread. Called again, it takes what was freed meanwhile. */
  void exhaustThreads() throws IOException, InterruptedException {
    log.note(Note.STARVED_UNTIL, System.nanoTime() + STARVED_NANOS_MAX);
    Path status = Path.of("/proc", Long.toString(process.pid()), "status");
    if (!process.isAlive()) {
      return;
    }
    long kibibytes = Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmSize:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow(() -> new IOException("no VmSize in " + status));
    limit(Long.toString((kibibytes + LEFT_KIBIBYTES) * 1024));
    log.note(Note.HOARD_THREADS, 1);
  }

  /** Ends the shortage of memory and threads. */
  void feed() throws IOException, InterruptedException {
    log.note(Note.FILL_HEAP, 0);
    log.note(Note.HOARD_THREADS, 0);
    if (process.isAlive()) {
      limit("unlimited");
    }
    log.note(Note.STARVED_UNTIL, System.nanoTime());
  }

  private void limit(String bytes) throws IOException, InterruptedException {
    Process limiting = new ProcessBuilder(
            "prlimit", "--pid", Long.toString(process.pid()), "--as=" + bytes + ":unlimited")
        .redirectErrorStream(true)
        .start();
    String said = new String(limiting.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (limiting.waitFor() != 0 && process.isAlive()) {
      throw new IOException("prlimit: " + said);
    }
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

  /** Prints the stacks of all threads to its output. */
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
