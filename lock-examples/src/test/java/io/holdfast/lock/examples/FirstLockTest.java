package io.holdfast.lock.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Runs the program of the README. */
class FirstLockTest {
  @Test
  void itGetsALock() throws Exception {
    PrintStream out = System.out;
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    System.setOut(new PrintStream(told, true, StandardCharsets.UTF_8));
    try {
      FirstLock.main(new String[] {"jdbc:h2:mem:first-lock;DB_CLOSE_DELAY=-1"});
    } finally {
      System.setOut(out);
    }
    assertThat(told.toString(StandardCharsets.UTF_8)).contains("It is mine, with token ");
  }
}
