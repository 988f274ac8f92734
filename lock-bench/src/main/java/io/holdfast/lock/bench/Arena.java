package io.holdfast.lock.bench;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Memory that all JVMs of a candidate see: who is inside each lock, so that two holders are found
 * out whatever the store believes, and the times of hand-offs.
 */
final class Arena {
  /** Longs. */
  private static final int SIZE = 1 << 17;

  private static final int FIRST_SLOT = 16;
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer memory;

  Arena(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MappedByteBuffer mapped =
          channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) SIZE * Long.BYTES);
      memory = mapped.order(ByteOrder.nativeOrder());
    }
  }

  void clear() {
    for (int i = 0; i < SIZE; i++) {
      set(i, 0);
    }
  }

  /** Says whether nobody was inside. */
  boolean enter(int slot, long who) {
    return (long) LONGS.getAndSet(memory, at(FIRST_SLOT + slot), who) == 0;
  }

  /** Says whether nobody came in meanwhile. */
  boolean leave(int slot, long who) {
    return LONGS.compareAndSet(memory, at(FIRST_SLOT + slot), who, 0L);
  }

  long get(int index) {
    return (long) LONGS.getVolatile(memory, at(index));
  }

  void set(int index, long value) {
    LONGS.setVolatile(memory, at(index), value);
  }

  private static int at(int index) {
    return Math.multiplyExact(index, Long.BYTES);
  }
}
