package io.holdfast.lock.bench;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * What a worker saw while it did a task.
 *
 * @param turns of each of its threads
 * @param latencies of a cycle, or of a hand-off, in nanoseconds: a histogram, compressed, in Base64
 * @param cpuNanos of the whole process
 * @param ownCpuNanos of the threads that the candidate keeps beside those that use it
 * @param compileMillis that the JIT compiler worked
 * @param allocatedBytes by all threads that live at the end
 * @param heapBytes used at the end, garbage included unless the task was to collect it
 * @param threads what the candidate keeps beside those that use it
 * @param violations how often somebody else was inside
 * @param error what ended it before its time
 */
record Sample(
    List<Long> turns,
    String latencies,
    long elapsedNanos,
    long cpuNanos,
    long ownCpuNanos,
    long compileMillis,
    long allocatedBytes,
    long heapBytes,
    int threads,
    long violations,
    @Nullable String error) {

  Sample {
    turns = List.copyOf(turns);
  }

  static String encode(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(buffer);
    return Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(buffer.array(), length));
  }

  Histogram histogram() {
    try {
      return Histogram.decodeFromCompressedByteBuffer(
          ByteBuffer.wrap(Base64.getDecoder().decode(latencies)), 0);
    } catch (DataFormatException e) {
      throw new IllegalStateException("a worker's histogram cannot be read", e);
    }
  }
}
