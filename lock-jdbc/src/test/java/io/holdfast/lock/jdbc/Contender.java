package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A JVM of the soak: its threads take and release one lock for as long as they are told, and it
 * writes down each turn (monotonic time in and out, which processes of one machine share, and the
 * token). Any exception ends it with a failure.
 */
final class Contender {
  private Contender() {}

  /** URL, user, password, lock name, threads, seconds, file for the turns. */
  public static void main(String[] args) throws Exception {
    int threads = Integer.parseInt(args[4]);
    Duration time = Duration.ofSeconds(Long.parseLong(args[5]));
    try (HikariDataSource pool = JdbcAccess.pool(args[0], args[1], args[2], threads + 4);
        LockClient client = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
      DistributedLock lock = client.get(args[3]);
      System.out.println("ready");
      if (System.in.read() < 0) {
        return;
      }
      long end = System.nanoTime() + time.toNanos();
      ExecutorService executor = Executors.newFixedThreadPool(threads);
      List<Future<long[]>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        all.add(executor.submit(() -> contend(lock, end)));
      }
      executor.shutdown();
      try (DataOutputStream turns =
          new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(args[6]))))) {
        for (Future<long[]> one : all) {
          for (long value : one.get()) {
            turns.writeLong(value);
          }
        }
      }
    }
  }

  private static long[] contend(DistributedLock lock, long end) throws InterruptedException {
    long[] turns = new long[3 << 10];
    int filled = 0;
    while (System.nanoTime() - end < 0) {
      if (filled == turns.length) {
        turns = java.util.Arrays.copyOf(turns, 2 * turns.length);
      }
      try (Lease lease = lock.lock()) {
        turns[filled] = System.nanoTime();
        turns[filled + 2] = lease.token();
        turns[filled + 1] = System.nanoTime();
      }
      filled += 3;
    }
    return java.util.Arrays.copyOf(turns, filled);
  }
}
