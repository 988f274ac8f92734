package io.holdfast.lock.examples.shop;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An instance of the shop: a JVM of its own, on a free port of the loopback interface. */
final class Instance implements AutoCloseable {
  private static final Duration START_MAX = Duration.ofSeconds(90);
  private static final Pattern STARTED = Pattern.compile("Tomcat started on port (\\d+)");
  private static final int NO_PORT = -1;

  private final String name;
  private final Process process;
  private final BlockingQueue<Integer> port = new ArrayBlockingQueue<>(1);
  private final ConcurrentLinkedQueue<String> log = new ConcurrentLinkedQueue<>();
  private URI address = URI.create("http://127.0.0.1");

  private Instance(String name, Process process) {
    this.name = name;
    this.process = process;
    Thread reader = new Thread(this::read, "log-" + name);
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Starts several, named shop-1, shop-2 and so on, and waits until all take requests.
   *
   * @param properties of the application, each like {@code shop.wait=10s}
   */
  static List<Instance> start(int count, Postgres postgres, String... properties)
      throws IOException, InterruptedException {
    List<Instance> instances = new ArrayList<>();
    try {
      for (int i = 1; i <= count; i++) {
        instances.add(start("shop-" + i, postgres, properties));
      }
      for (Instance instance : instances) {
        instance.awaitStart();
      }
      return instances;
    } catch (Throwable e) {
      instances.forEach(Instance::close);
      throw e;
    }
  }

  private static Instance start(String name, Postgres postgres, String... properties)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"));
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(ShopProcess.class.getName());
    command.addAll(List.of(
        "--holdfast.client-name=" + name,
        "--server.address=127.0.0.1",
        "--server.port=0",
        "--spring.datasource.url=" + postgres.url(),
        "--spring.datasource.username=" + Postgres.USER,
        "--spring.datasource.password=" + Postgres.PASSWORD));
    for (String property : properties) {
      command.add("--" + property);
    }
    return new Instance(
        name, new ProcessBuilder(command).redirectErrorStream(true).start());
  }

  private void read() {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        log.add(line);
        Matcher started = STARTED.matcher(line);
        if (started.find()) {
          port.add(Integer.valueOf(started.group(1)));
        }
      }
    } catch (IOException e) {
      // It was killed while it spoke.
    } finally {
      // Whoever waits for the port need not wait any longer.
      boolean unused = port.offer(NO_PORT);
    }
  }

  private void awaitStart() throws InterruptedException {
    Integer found = port.poll(START_MAX.toSeconds(), TimeUnit.SECONDS);
    if (found == null || found == NO_PORT) {
      throw new IllegalStateException(
          name + " did not start. It wrote:\n" + String.join("\n", log));
    }
    address = URI.create("http://127.0.0.1:" + found);
  }

  String name() {
    return name;
  }

  /** Returns {@code http://127.0.0.1:PORT}. */
  URI address() {
    return address;
  }

  /** What it logged that contains this. */
  List<String> logged(String part) {
    return log.stream().filter(line -> line.contains(part)).toList();
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
