package io.holdfast.lock.examples.shop;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An instance of the shop in a JVM of its own, on a free port of the loopback interface. */
final class Instance implements AutoCloseable {
  private static final int START_SECONDS_MAX = 120;
  private static final Pattern STARTED = Pattern.compile("Tomcat started on port (\\d+)");

  private final String name;
  private final Process process;
  private final ConcurrentLinkedQueue<String> log = new ConcurrentLinkedQueue<>();
  private final CompletableFuture<Web> web = new CompletableFuture<>();
  private final Thread reader;

  private Instance(String name, Process process) {
    this.name = name;
    this.process = process;
    // Ends it with this process, unless that gets SIGKILL.
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    reader = new Thread(this::read, "log-" + name);
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Starts an instance, and waits until it takes requests.
   *
   * @param properties the application's properties, each like {@code --shop.wait=10s}
   */
  static Instance start(String name, Database database, String... properties) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"));
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(Shop.class.getName());
    command.addAll(List.of(
        "--holdfast.client-name=" + name,
        "--server.address=127.0.0.1",
        "--server.port=0",
        "--spring.datasource.url=" + database.url(),
        "--spring.datasource.username=" + database.user(),
        "--spring.datasource.password=" + database.password()));
    command.addAll(List.of(properties));
    Instance instance =
        new Instance(name, new ProcessBuilder(command).redirectErrorStream(true).start());
    try {
      instance.web.get(START_SECONDS_MAX, TimeUnit.SECONDS);
      return instance;
    } catch (Exception e) {
      instance.close();
      throw new IllegalStateException(
          name + " did not start. It wrote:\n" + String.join("\n", instance.log), e);
    }
  }

  private void read() {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        log.add(line);
        Matcher started = STARTED.matcher(line);
        if (started.find()) {
          web.complete(Web.onPort(Integer.parseInt(started.group(1))));
        }
      }
    } catch (IOException e) {
      // It was killed while it spoke.
    }
    web.completeExceptionally(new IOException(name + " has ended"));
  }

  String name() {
    return name;
  }

  Web web() {
    return web.join();
  }

  /** Returns the lines that it has logged so far. */
  List<String> log() {
    return List.copyOf(log);
  }

  /** SIGKILL: nothing is cleaned up in it. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** SIGSTOP: it keeps all that it has, and does nothing. */
  void freeze() throws IOException, InterruptedException {
    signal("STOP");
  }

  /** SIGCONT: it goes on as if no time had passed. */
  void wake() throws IOException, InterruptedException {
    signal("CONT");
  }

  /** SIGTERM: it shuts down. */
  void terminate() throws IOException, InterruptedException {
    signal("TERM");
  }

  /** Waits until it has ended, and all of its log is here; returns its exit status. */
  int awaitEnd(Duration max) throws InterruptedException {
    if (!process.waitFor(max.toNanos(), TimeUnit.NANOSECONDS)) {
      throw new IllegalStateException(name + " did not end. It wrote:\n" + String.join("\n", log));
    }
    reader.join();
    return process.exitValue();
  }

  private void signal(String signal) throws IOException, InterruptedException {
    // The shell's own, since not every system has a program of that name.
    String command = "kill -s " + signal + " " + process.pid();
    int status = new ProcessBuilder("sh", "-c", command).start().waitFor();
    if (status != 0) {
      throw new IllegalStateException("\"" + command + "\" failed with status " + status);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
