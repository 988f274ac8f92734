package io.holdfast.lock.spring;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** The lines of the log. */
final class Logged {
  private Logged() {}

  interface Step {
    void run() throws Exception;
  }

  /** Returns those that are written while a step runs; they are not shown. */
  static String during(Step step) throws Exception {
    ByteArrayOutputStream lines = new ByteArrayOutputStream();
    PrintStream before = System.err;
    System.setErr(new PrintStream(lines, true, UTF_8));
    try {
      step.run();
    } finally {
      System.setErr(before);
    }
    return lines.toString(UTF_8);
  }
}
