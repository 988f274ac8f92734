package io.holdfast.lock.consul;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;

/**
 * A JVM that fights for one lock until it is told to stop, and now and then takes one of some
 * others, for which mostly nobody waits. It prints a line for each turn: the name, the token, when
 * the lock was first and last seen held, by the monotonic clock of the machine, and how the turn
 * ended.
 */
final class RollingContender {
  static final Duration TTL = Duration.ofSeconds(15);
  static final String CONTENDED = "contended";
  static final int QUIET_NAMES = 3;

  private final LockClient client;
  private volatile boolean stop;

  private RollingContender(LockClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
    try (LockClient client = ConsulLocks.builder(new OkHttpClient(), arguments[0])
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(TTL))
        .build()) {
      RollingContender contender = new RollingContender(client);
      Future<Void> contends = threads.submit(contender::contend);
      Future<Void> comes = threads.submit(contender::comeNowAndThen);
      new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
      contender.stop = true;
      contends.get(3, TimeUnit.MINUTES);
      comes.get(3, TimeUnit.MINUTES);
      tell("done");
    } finally {
      threads.shutdownNow();
    }
  }

  private static synchronized void tell(String line) {
    System.out.println(line);
  }

  private Void contend() throws InterruptedException {
    while (!stop) {
      try {
        turn(client.get(CONTENDED).lock(), 400);
      } catch (LockStoreException e) {
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
    return null;
  }

  private Void comeNowAndThen() throws InterruptedException {
    while (!stop) {
      String name = "quiet-" + ThreadLocalRandom.current().nextInt(QUIET_NAMES);
      try {
        Optional<Lease> lease = client.get(name).tryLock();
        if (lease.isPresent()) {
          turn(lease.get(), 4_000);
        }
      } catch (LockStoreException e) {
        TimeUnit.MILLISECONDS.sleep(50);
      }
      TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(300));
    }
    return null;
  }

  private static void turn(Lease lease, int millisMax) throws InterruptedException {
    String outcome = "closed";
    long firstNanos = 0;
    long lastNanos = 0;
    try (lease) {
      long endNanos = System.nanoTime()
          + TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(millisMax));
      // The times are certain: the lock was held from before the first to after the last.
      for (long nowNanos = System.nanoTime();
          lease.isHeld() && nowNanos - endNanos < 0;
          nowNanos = System.nanoTime()) {
        lastNanos = nowNanos;
        firstNanos = firstNanos == 0 ? System.nanoTime() : firstNanos;
        TimeUnit.MILLISECONDS.sleep(1);
      }
    } catch (LockLostException e) {
      outcome = "lost";
    }
    tell(lease.name() + " " + lease.token() + " " + firstNanos + " " + lastNanos + " " + outcome);
  }
}
