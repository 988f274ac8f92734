package io.holdfast.lock.tck.process;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.process.Register.Right;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Threads of one process that take a lock and a semaphore, and give them back, until the process is
 * killed. All processes that contend share a folder, and take note there of who is inside, of what
 * must never be, and of what failed.
 */
final class Contention {
  private static final int SECTION_MILLIS_MAX = 30;
  private static final int PAUSE_MILLIS_MAX = 20;
  private static final int PAUSE_AFTER_FAILURE_MILLIS = 100;

  private final Path folder;
  private final Register register;
  private int seat;

  /** @param firstSeat the first of the seats of this process's threads in the register */
  Contention(Path folder, int firstSeat) {
    this.folder = folder;
    this.register = register(folder);
    this.seat = firstSeat;
  }

  static Register register(Path folder) {
    return new Register(folder.resolve("register"));
  }

  /** Returns the file with what must never be: one line for each time. */
  static Path faults(Path folder) {
    return folder.resolve("faults");
  }

  /** Returns the file with failures that a caller must expect on a busy machine. */
  static Path failures(Path folder) {
    return folder.resolve("failures");
  }

  /** Starts so many threads of each sort. */
  void start(LockClient client, String name, int writers, int readers, int permits) {
    for (int i = 0; i < writers; i++) {
      startOne(client.get(name), lease -> Right.WRITE);
    }
    for (int i = 0; i < readers; i++) {
      startOne(client.readWrite(name).read(), lease -> Right.READ);
    }
    for (int i = 0; i < permits; i++) {
      startOne(client.semaphore(name, Register.PERMITS), Right::permit);
    }
  }

  private void startOne(DistributedLock lock, Function<Lease, Right> right) {
    int own = seat++;
    Thread thread = new Thread(() -> contend(own, lock, right), "contention-" + own);
    thread.setDaemon(true);
    thread.start();
  }

  private void contend(int own, DistributedLock lock, Function<Lease, Right> right) {
    try {
      while (true) {
        try {
          turn(own, lock, right);
        } catch (LockStoreException | LockLostException e) {
          append(failures(folder), own, e.toString());
          TimeUnit.MILLISECONDS.sleep(PAUSE_AFTER_FAILURE_MILLIS);
        }
        pause(PAUSE_MILLIS_MAX);
      }
    } catch (Exception | AssertionError e) {
      e.printStackTrace();
      append(faults(folder), own, e.toString());
    }
  }

  private void turn(int own, DistributedLock lock, Function<Lease, Right> right)
      throws InterruptedException {
    try (Lease lease = lock.lock()) {
      try {
        @Nullable String wrong = register.enter(own, right.apply(lease), lease);
        if (wrong != null) {
          append(faults(folder), own, wrong);
        }
        pause(SECTION_MILLIS_MAX);
      } finally {
        register.leave(own);
      }
    }
  }

  private static void pause(int millisMax) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(1, millisMax + 1));
  }

  private static void append(Path file, int own, String text) {
    try {
      Files.writeString(
          file,
          "seat " + own + ": " + text.replace('\n', ' ') + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
