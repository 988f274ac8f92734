package io.holdfast.lock.bench.scenario;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * A worker's measurements during a task.
 *
 * @param turns the number of turns of each of its threads
 * @param latencies the latencies of cycles or hand-offs, in nanoseconds: a histogram, compressed,
 *     in Base64
 * @param cpuNanos the CPU time of the whole process
 * @param ownCpuNanos the CPU time of the threads that the candidate has besides those that use it
 * @param compileMillis the time for which the JIT compiler worked
 * @param allocatedBytes the bytes allocated by all threads that are alive at the end
 * @param heapBytes the heap in use at the end, including garbage unless the task was to collect it
 * @param threads the number of threads that the candidate has besides those that use it
 * @param violations the number of times that another holder was inside
 * @param error the failure that ended the task early, if any
 */
public record Sample(
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

  public Sample {
    turns = List.copyOf(turns);
  }

  public static String encode(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(buffer);
    return Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(buffer.array(), length));
  }

  public Histogram histogram() {
    try {
      return Histogram.decodeFromCompressedByteBuffer(
          ByteBuffer.wrap(Base64.getDecoder().decode(latencies)), 0);
    } catch (DataFormatException e) {
      throw new IllegalStateException("a worker's histogram cannot be read", e);
    }
  }
}
