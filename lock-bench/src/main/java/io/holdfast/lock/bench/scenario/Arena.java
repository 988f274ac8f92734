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
 * Memory that all JVMs of a candidate share. It records how much of each lock is taken, so that too
 * many holders at once are noticed whatever the store says, and the times of hand-offs.
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

  /** Enters a lock; returns whether there was room beside those who are inside. */
  public boolean enter(int slot, Share share) {
    long inside = (long) LONGS.getAndAdd(memory, at(FIRST_SLOT + slot), share.weight());
    return inside + share.weight() <= share.whole();
  }

  /** Leaves a lock. */
  public void leave(int slot, Share share) {
    LONGS.getAndAdd(memory, at(FIRST_SLOT + slot), -share.weight());
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
