package io.holdfast.lock.testsupport;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** The lines of the log, where it goes to the standard error stream. */
public final class Logged {
  private Logged() {}

  /** A step of a test, whose lines are returned. */
  public interface Step {
    /** Does it. */
    void run() throws Exception;
  }

  /**
   * Returns those that are written while a step runs, by any thread; they are not shown. One such
   * step runs after the other.
   */
  public static synchronized String during(Step step) throws Exception {
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
