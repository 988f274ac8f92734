package io.holdfast.lock.tck.process;

import io.holdfast.lock.tck.StoreAccessFactory;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A second JVM that takes locks on command. It reads commands as lines from its standard input and
 * writes answers as lines to its standard output ({@link ChildMain} lists the commands). It ends
 * when its standard input does, so that none outlives the tests.
 *
 * <p>Threads: for one thread at a time, except {@link #freeze}, {@link #thaw}, {@link #kill} and
 * {@link #close}.
 */
public final class ChildProcess implements AutoCloseable {
  private static final Duration START_MAX = Duration.ofSeconds(60);
  private static final int ERROR_LINES_KEPT = 200;

  private final Process process;
  private final BufferedWriter commands;
  private final LinkedBlockingQueue<String> replies = new LinkedBlockingQueue<>();
  private final Deque<String> errors = new ArrayDeque<>(); // under its own monitor

  private ChildProcess(Process process) {
    this.process = process;
    this.commands = process.outputWriter(StandardCharsets.UTF_8);
  }

  /**
   * The way in which a child opens its access to the store.
   *
   * @param factory the class that opens the child's access
   * @param arguments the arguments for the factory
   */
  public record Entry(Class<? extends StoreAccessFactory> factory, List<String> arguments) {}

  /** Starts a child, and waits until it has opened its access to the store. */
  public static ChildProcess start(Entry entry) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(List.of("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"));
    command.add(classPath());
    command.add(ChildMain.class.getName());
    command.add(entry.factory().getName());
    command.addAll(entry.arguments());
    try {
      ChildProcess child = new ChildProcess(new ProcessBuilder(command).start());
      child.readInBackground("out", child.process.getInputStream(), child::heard);
      child.readInBackground("err", child.process.getErrorStream(), child::complained);
      child.awaitReady();
      return child;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a command; its reply is read by {@link #reply}. */
  public void send(Object... words) {
    String line = String.join(" ", Arrays.stream(words).map(String::valueOf).toList());
    try {
      commands.write(line);
      commands.newLine();
      commands.flush();
    } catch (IOException e) {
      throw new AssertionError("The child does not take '" + line + "'; it said:" + errors(), e);
    }
  }

  /** Returns the words of the next reply; an {@link AssertionError} if none comes in time. */
  public List<String> reply(Duration within) {
    try {
      String line = replies.poll(within.toNanos(), TimeUnit.NANOSECONDS);
      if (line == null) {
        throw new AssertionError("The child process gave no reply within "
            + within
            + (process.isAlive() ? "" : " and has ended with " + process.exitValue())
            + "; it said:"
            + errors());
      }
      return List.of(line.split(" "));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting for a child's reply", e);
    }
  }

  /** Sends a command and returns the words of its reply. */
  public List<String> ask(Duration within, Object... words) {
    send(words);
    return reply(within);
  }

  /** Stops all threads of the child (SIGSTOP). */
  public void freeze() {
    signal("STOP");
  }

  /** Lets the child go on (SIGCONT). */
  public void thaw() {
    signal("CONT");
  }

  /** Kills the child without warning (SIGKILL), and waits until it is gone. */
  public void kill() {
    process.destroyForcibly();
    awaitEnd(Duration.ofSeconds(10));
  }

  /** Waits until the child has ended by itself. */
  public void awaitEnd(Duration within) {
    try {
      if (!process.waitFor(within.toNanos(), TimeUnit.NANOSECONDS)) {
        throw new AssertionError("The child process did not end within " + within);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting for a child's end", e);
    }
  }

  /** Kills the child if it is alive. */
  @Override
  public void close() {
    process.destroyForcibly();
  }

  private void awaitReady() {
    try {
      List<String> reply = reply(START_MAX);
      if (!reply.get(0).equals("ready")) {
        throw new AssertionError("The child process said " + reply + ", not ready" + errors());
      }
    } catch (AssertionError e) {
      close();
      throw e;
    }
  }

  private void signal(String name) {
    try {
      int exit = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
          .start()
          .waitFor();
      if (exit != 0) {
        throw new AssertionError("kill -" + name + " ended with " + exit);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while signalling a child", e);
    }
  }

  private void heard(String line) {
    if (line.startsWith(ChildMain.REPLY)) {
      replies.add(line.substring(ChildMain.REPLY.length()));
    } else {
      complained(line);
    }
  }

  private void complained(String line) {
    synchronized (errors) {
      errors.addLast(line);
      if (errors.size() > ERROR_LINES_KEPT) {
        errors.removeFirst();
      }
    }
  }

  private String errors() {
    synchronized (errors) {
      return errors.isEmpty() ? " nothing" : "\n" + String.join("\n", errors);
    }
  }

  private void readInBackground(String name, InputStream stream, Consumer<String> consumer) {
    Thread thread = new Thread(
        () -> {
          try (BufferedReader reader =
              new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
              consumer.accept(line);
            }
          } catch (IOException e) {
            complained("(its " + name + " ended: " + e + ")");
          }
        },
        "child-" + process.pid() + "-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  private static String classPath() {
    // Surefire may start its JVM with a single jar that refers to the others.
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    String modulePath = System.getProperty("jdk.module.path");
    return modulePath == null ? classPath : classPath + File.pathSeparator + modulePath;
  }
}
