package io.holdfast.lock.redis;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** Clients that fight for one lock, and go on whatever happens to the server. */
final class Contenders implements AutoCloseable {
  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final List<Future<?>> ends = new ArrayList<>();
  private final List<AtomicLong> turns = new ArrayList<>();
  private final AtomicLong highestToken = new AtomicLong();
  private volatile boolean stopped;

  Contenders(int count, String name, Supplier<LockClientBuilder<?>> builder) {
    for (int i = 0; i < count; i++) {
      AtomicLong own = new AtomicLong();
      turns.add(own);
      ends.add(executor.submit(() -> {
        contend(name, builder.get(), own);
        return null;
      }));
    }
  }

  private void contend(String name, LockClientBuilder<?> builder, AtomicLong own)
      throws InterruptedException {
    try (LockClient locks = open(builder
        .storeTimeout(Duration.ofSeconds(1))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(3))))) {
      DistributedLock lock = locks.get(name);
      while (!stopped) {
        // Whoever had a token when this one was asked for has a lower one, be it lost or not.
        long before = highestToken.get();
        try (Lease lease = lock.lock()) {
          if (lease.token() <= before) {
            throw new AssertionError("Token " + lease.token() + " after " + before);
          }
          highestToken.accumulateAndGet(lease.token(), Math::max);
          own.incrementAndGet();
        } catch (LockStoreException | LockLostException e) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
    }
  }

  private LockClient open(LockClientBuilder<?> builder) throws InterruptedException {
    while (true) {
      try {
        return builder.build();
      } catch (LockStoreException e) {
        if (stopped) {
          throw e;
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
  }

  /** Each of them gets its turn more than once: none is stuck. */
  void awaitTurns(String when) throws Exception {
    List<Long> before = turns.stream().map(AtomicLong::get).toList();
    Await.until("turns for all " + when, () -> {
      for (int i = 0; i < ends.size(); i++) {
        if (ends.get(i).isDone()) {
          ends.get(i).get();
        }
        if (turns.get(i).get() < before.get(i) + 3) {
          return false;
        }
      }
      return true;
    });
  }

  /** Ends them, and fails if one of them did. */
  void stop() throws Exception {
    stopped = true;
    for (Future<?> end : ends) {
      end.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
  }

  @Override
  public void close() {
    stopped = true;
    executor.shutdownNow();
  }
}
