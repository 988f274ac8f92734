package io.holdfast.lock.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** A second JVM, small, with the class path of the tests. */
public final class ChildJvm {
  private ChildJvm() {}

  /** Returns what starts a program; its errors are shown with the test's. */
  public static ProcessBuilder of(Class<?> program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(
        System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
        "-Xmx160m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
        program.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  /** Stops all threads of a process (SIGSTOP). */
  public static void freeze(Process process) {
    signal("STOP", process);
  }

  /** Lets a process go on (SIGCONT). */
  public static void thaw(Process process) {
    signal("CONT", process);
  }

  private static void signal(String name, Process process) {
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
      throw new AssertionError("Interrupted while signalling a process", e);
    }
  }
}
