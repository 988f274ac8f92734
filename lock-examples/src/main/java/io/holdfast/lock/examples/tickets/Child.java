package io.holdfast.lock.examples.tickets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A seller's process, seen from its parent. Used by one thread, but for {@link #end()}. */
final class Child {
  private final String name;
  private final Process process;
  private final Path errors;

  /** The lines that were not read yet; an empty element is the end. */
  private final LinkedBlockingQueue<Optional<Said>> unheard = new LinkedBlockingQueue<>();

  private final List<Said> heard = new ArrayList<>();

  /**
   * One line of a child.
   *
   * @param atNanos when it arrived
   */
  record Said(Word word, String rest, long atNanos) {
    long number(int index) {
      return Long.parseLong(rest.split(" ", -1)[index]);
    }
  }

  private Child(String name, Process process, Path errors) {
    this.name = name;
    this.process = process;
    this.errors = errors;
  }

  static Child start(Order order, Database database) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // It lives for seconds: starting fast is all that matters.
    command.addAll(List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(SellerProcess.class.getName());
    command.addAll(order.arguments());
    ProcessBuilder builder = new ProcessBuilder(command);
    database.putInto(builder.environment());
    Path errors = Files.createTempFile("holdfast-demo-", ".log");
    builder.redirectError(errors.toFile());
    Child child = new Child(order.name(), builder.start(), errors);
    Thread listener = new Thread(child::listen, "listener-" + order.name());
    listener.setDaemon(true);
    listener.start();
    return child;
  }

  String name() {
    return name;
  }

  /** Tells the seller to begin. */
  void begin() throws IOException {
    sendLine();
  }

  /** Tells the seller that no customer takes long any more. */
  void hurry() throws IOException {
    sendLine();
  }

  private void sendLine() throws IOException {
    OutputStream input = process.getOutputStream();
    input.write('\n');
    input.flush();
  }

  /** Waits until the child says this word. */
  Said await(Word word, Duration maxWait) throws InterruptedException, DemoFailure {
    return listenFor(word, maxWait)
        .orElseThrow(() -> new DemoFailure(
            name + " did not say " + word + " within " + maxWait.toSeconds() + " s" + errors()));
  }

  /** Waits at most that long for the child to say this word. */
  Optional<Said> listenFor(Word word, Duration maxWait) throws InterruptedException, DemoFailure {
    long untilNanos = System.nanoTime() + maxWait.toNanos();
    while (true) {
      Optional<Said> next = unheard.poll(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      if (next == null) {
        return Optional.empty();
      }
      Said said = next.orElseThrow(
          () -> new DemoFailure(name + " ended before it said " + word + errors()));
      heard.add(said);
      if (said.word() == word) {
        return next;
      }
    }
  }

  /** Returns the lines with this word that were read so far. */
  List<Said> heard(Word word) {
    return heard.stream().filter(said -> said.word() == word).toList();
  }

  /** SIGKILL: no clean-up runs in the child. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** SIGSTOP: the child keeps all it has, and does nothing. */
  void freeze() throws InterruptedException, DemoFailure {
    signal("STOP");
  }

  /** SIGCONT: the child goes on as if no time had passed. */
  void wake() throws InterruptedException, DemoFailure {
    signal("CONT");
  }

  /** Ends the process, frozen or not, and removes what it left. From any thread. */
  void end() {
    process.destroyForcibly();
    try {
      process.waitFor(5, TimeUnit.SECONDS);
      Files.deleteIfExists(errors);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      // A log file that stays in the temporary directory harms nobody.
    }
  }

  /** Closes the input of the child, as the end of its parent does. */
  void hangUp() throws IOException {
    process.getOutputStream().close();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  private void signal(String signal) throws InterruptedException, DemoFailure {
    String command = "kill -s " + signal + " " + process.pid();
    int status;
    try {
      // The shell's own command: not every system has a program of that name.
      status = new ProcessBuilder("sh", "-c", command).start().waitFor();
    } catch (IOException e) {
      throw new DemoFailure("this system has no SIG" + signal + " (" + e.getMessage() + ")");
    }
    if (status != 0) {
      throw new DemoFailure("\"" + command + "\" failed with status " + status);
    }
  }

  private void listen() {
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        long atNanos = System.nanoTime();
        String[] parts = line.split(" ", 2);
        String rest = parts.length == 1 ? "" : parts[1];
        // The JVM itself may print lines, too.
        Arrays.stream(Word.values())
            .filter(word -> word.name().equals(parts[0]))
            .forEach(word -> unheard.add(Optional.of(new Said(word, rest, atNanos))));
      }
    } catch (IOException e) {
      // The child was killed while it spoke.
    } finally {
      unheard.add(Optional.empty());
    }
  }

  private String errors() {
    try {
      String text = Files.readString(errors).strip();
      return text.isEmpty() ? "" : ". It wrote:\n" + text;
    } catch (IOException e) {
      return "";
    }
  }
}
