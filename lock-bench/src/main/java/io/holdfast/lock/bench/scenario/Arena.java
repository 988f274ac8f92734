package io.holdfast.lock.bench.scenario;

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
 * Memory that all JVMs of a candidate share. It records who is inside each lock, so that two
 * holders at once are noticed whatever the store says, and the times of hand-offs.
 */
public final class Arena {
  /** The size, in longs. */
  private static final int SIZE = 1 << 17;

  private static final int FIRST_SLOT = 16;
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final ByteBuffer memory;

  public Arena(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MappedByteBuffer mapped =
          channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) SIZE * Long.BYTES);
      memory = mapped.order(ByteOrder.nativeOrder());
    }
  }

  public void clear() {
    for (int i = 0; i < SIZE; i++) {
      set(i, 0);
    }
  }

  /** Enters a lock; returns whether nobody was inside. */
  public boolean enter(int slot, long who) {
    return (long) LONGS.getAndSet(memory, at(FIRST_SLOT + slot), who) == 0;
  }

  /** Leaves a lock; returns whether nobody came in meanwhile. */
  public boolean leave(int slot, long who) {
    return LONGS.compareAndSet(memory, at(FIRST_SLOT + slot), who, 0L);
  }

  public long get(int index) {
    return (long) LONGS.getVolatile(memory, at(index));
  }

  public void set(int index, long value) {
    LONGS.setVolatile(memory, at(index), value);
  }

  private static int at(int index) {
    return Math.multiplyExact(index, Long.BYTES);
  }
}
