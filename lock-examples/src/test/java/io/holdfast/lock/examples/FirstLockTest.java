package io.holdfast.lock.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.LockTimeoutException;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The program of the README, which waits for Enter while it has the lock, does what is said of it.
 */
class FirstLockTest {
  private static final String[] URL = {"jdbc:h2:mem:first-lock;DB_CLOSE_DELAY=-1"};

  private final InputStream keys = System.in;
  private final PrintStream screen = System.out;
  private final LinkedBlockingQueue<String> printed = new LinkedBlockingQueue<>();
  private final ExecutorService firstTerminal = Executors.newSingleThreadExecutor();

  @BeforeEach
  void watchTheScreen() {
    System.setOut(new PrintStream(OutputStream.nullOutputStream(), true, UTF_8) {
      @Override
      public void println(String line) {
        printed.add(line);
      }
    });
  }

  @AfterEach
  void putBack() {
    System.setIn(keys);
    System.setOut(screen);
    firstTerminal.shutdownNow();
  }

  @Test
  void aSecondIsRefusedUntilTheFirstIsToldToGiveItBack() throws Exception {
    PipedInputStream noKeyYet = new PipedInputStream();
    try (PipedOutputStream keyboard = new PipedOutputStream(noKeyYet)) {
      System.setIn(noKeyYet);
      Future<?> first = firstTerminal.submit(FirstLockTest::run);
      assertThat(printed.poll(20, TimeUnit.SECONDS)).startsWith("It is mine, with token ");

      assertThatThrownBy(() -> FirstLock.main(URL)).isInstanceOf(LockTimeoutException.class);
      assertThat(printed).isEmpty();

      keyboard.write('\n');
      keyboard.flush();
      first.get(20, TimeUnit.SECONDS);
    }
    System.setIn(new ByteArrayInputStream("\n".getBytes(UTF_8)));
    FirstLock.main(URL);
    assertThat(printed.poll()).startsWith("It is mine, with token ");
  }

  private static Void run() throws Exception {
    FirstLock.main(URL);
    return null;
  }
}
