package io.holdfast.lock.zookeeper;

import io.holdfast.lock.testsupport.ChildJvm;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Another JVM, that is told and tells by lines. */
final class Child implements AutoCloseable {
  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader lines;

  Child(Class<?> main, String... arguments) throws IOException {
    process = ChildJvm.of(main, arguments).start();
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
