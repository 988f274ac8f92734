package io.holdfast.lock.zookeeper;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Another JVM, that is told and tells by lines. */
final class Child implements AutoCloseable {
  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader lines;

  Child(Class<?> main, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
        "-Xmx160m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        main.getName()));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    commands = process.outputWriter(StandardCharsets.UTF_8);
    lines = process.inputReader(StandardCharsets.UTF_8);
  }

  void tell(String line) throws IOException {
    commands.write(line);
    commands.newLine();
    commands.flush();
  }

  String hear() throws IOException {
    return lines.readLine();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
