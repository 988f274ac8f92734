package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Attempt.Write;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The record of one process of a worker, in a file that it and its parent have mapped: it is there
 * however the process ends, since the pages are the kernel's. It also carries the parent's orders.
 *
 * <p>Threads: each attempt is written by one thread, field by field. A field that says that others
 * are set is written after them.
 */
@SuppressWarnings("EnumOrdinal") // One build reads what it wrote; nobody keeps these files.
final class WorkerLog {
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final int HEADER_LONGS = 16;
  private static final int ATTEMPT_LONGS = 20;
  private static final int ATTEMPTS_MAX = 200_000;
  private static final int BYTES = Long.BYTES * (HEADER_LONGS + ATTEMPT_LONGS * ATTEMPTS_MAX);

  private final ByteBuffer buffer;
  private final AtomicInteger begun = new AtomicInteger();

  private WorkerLog(ByteBuffer buffer) {
    this.buffer = buffer.order(ByteOrder.nativeOrder());
  }

  /** Maps the file, which is made if it is not there. It takes no space until it is written to. */
  static WorkerLog map(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new WorkerLog(channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES));
    }
  }

  /** The values that parent and child exchange. */
  enum Note {
    /** The parent's order: an ordinal of {@link Order}. */
    ORDER,
    /** The time at which the child had a client. */
    READY_AT,
    /** The time by which each thread had every name once after the last fault. */
    RECOVERED_AT,
    /** The time at which the client was closed. */
    CLOSED_AT,
    /** The number of the client's threads that were left then. */
    THREADS_LEFT,
    /** The parent's: how far the worker's wall clock is ahead; negative: behind. */
    WALL_AHEAD_MILLIS,
    /** The parent's: for how long the worker's machine has been suspended. */
    SUSPENDED_NANOS,
    /** The parent's: 1 while the child is to fill its heap. */
    FILL_HEAP,
    /** The parent's: 1 while the child is to use up all threads that it can have. */
    HOARD_THREADS,
    /** The parent's: the end of the last shortage of memory or threads; zero: there was none. */
    STARVED_UNTIL,
    /** The time for which the child as a whole did not run, as far as its pulse tells. */
    STALLED_NANOS,
    /** 1 while the child's heap is full, which is a while after the order, until it is freed. */
    HEAP_IS_FULL,
    /** The time at which the child freed it. */
    HEAP_FREED_AT
  }

  /** The parent's order to a worker. */
  enum Order {
    /** Take locks at random. */
    WORK,
    /** Get every name once. */
    RECOVER,
    /** Close the client, and end. */
    END
  }

  private static final Order[] ORDERS = Order.values();

  void note(Note note, long value) {
    LONGS.setVolatile(buffer, note.ordinal() * Long.BYTES, value);
  }

  long noted(Note note) {
    return (long) LONGS.getVolatile(buffer, note.ordinal() * Long.BYTES);
  }

  void order(Order order) {
    note(Note.ORDER, order.ordinal());
  }

  Order ordered() {
    return ORDERS[(int) noted(Note.ORDER)];
  }

  /** The fields of an attempt; {@link Attempt} says what they mean. */
  enum Field {
    ASKED_AT,
    THREAD,
    NAME,
    OPTIONS,
    RECOVERY,
    ANSWER,
    ANSWERED_AT,
    TOKEN,
    BELIEVED_FROM,
    BELIEVED_UNTIL,
    DOUBTED_AT,
    CLOSE_BEGAN_AT,
    CLOSING,
    CLOSED_AT,
    WRITE,
    MAX_WAIT_MILLIS,
    MIN_HOLD_MILLIS,
    STALLED_NANOS,
    NESTED
  }

  /** Returns the number of attempts. */
  int attempts() {
    return begun.get();
  }

  /** Makes room for one more attempt. */
  Entry begin() {
    int index = begun.getAndIncrement();
    if (index >= ATTEMPTS_MAX) {
      throw new IllegalStateException("More than " + ATTEMPTS_MAX + " attempts");
    }
    return new Entry(index);
  }

  /** The record of one attempt. */
  final class Entry {
    private final int index;

    private Entry(int index) {
      this.index = index;
    }

    int index() {
      return index;
    }

    void set(Field field, long value) {
      LONGS.setVolatile(buffer, at(field), value);
    }

    void set(Field field, Enum<?> value) {
      set(field, value.ordinal());
    }

    long get(Field field) {
      return (long) LONGS.getVolatile(buffer, at(field));
    }

    private int at(Field field) {
      return Long.BYTES * (HEADER_LONGS + index * ATTEMPT_LONGS + field.ordinal());
    }

    private Attempt read(int worker, int life) {
      return new Attempt(
          new Attempt.Id(worker, life, index),
          (int) get(Field.THREAD),
          (int) get(Field.NAME),
          Call.text((int) get(Field.OPTIONS)),
          get(Field.RECOVERY) != 0,
          get(Field.ASKED_AT),
          get(Field.ANSWERED_AT),
          Answer.values()[(int) get(Field.ANSWER)],
          get(Field.TOKEN),
          get(Field.BELIEVED_FROM),
          get(Field.BELIEVED_UNTIL),
          get(Field.DOUBTED_AT),
          get(Field.CLOSE_BEGAN_AT),
          get(Field.CLOSED_AT),
          Closing.values()[(int) get(Field.CLOSING)],
          Write.values()[(int) get(Field.WRITE)],
          get(Field.MAX_WAIT_MILLIS),
          get(Field.MIN_HOLD_MILLIS),
          get(Field.STALLED_NANOS),
          Nested.values()[(int) get(Field.NESTED)]);
    }
  }

  /** Returns all attempts whose beginning was recorded. */
  List<Attempt> read(int worker, int life) {
    List<Attempt> attempts = new ArrayList<>();
    int unused = 0;
    // A thread that was killed between taking a place and writing leaves a gap.
    for (int index = 0; index < ATTEMPTS_MAX && unused < 100; index++) {
      Entry entry = new Entry(index);
      if (entry.get(Field.ASKED_AT) == 0) {
        unused++;
      } else {
        unused = 0;
        attempts.add(entry.read(worker, life));
      }
    }
    return attempts;
  }
}
