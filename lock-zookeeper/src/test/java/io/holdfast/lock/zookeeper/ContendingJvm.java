package io.holdfast.lock.zookeeper;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;

/**
 * A JVM that holds a lock of its own all the time, and takes another again and again. It tells the
 * count of its turns when it is asked by {@code turns}, and ends with {@code stop}: it then tells
 * how many calls failed, and how many leases were lost. Its turns are in a file, a line each: when
 * it had the lock, when it last believed so, and the token.
 */
final class ContendingJvm {
  private static final int THREADS = 2;
  private static final long HOLD_MILLIS = 5;

  private final AtomicInteger turns = new AtomicInteger();
  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicInteger losses = new AtomicInteger();
  private final PrintStream file;
  private volatile boolean stopped;

  private ContendingJvm(PrintStream file) {
    this.file = file;
  }

  /** The servers' addresses, the session's timeout, the common name, the own name, the file. */
  public static void main(String[] args) throws Exception {
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    ContendingJvm jvm = new ContendingJvm(new PrintStream(args[4], StandardCharsets.UTF_8));
    try (CuratorFramework framework = Frameworks.open(args[0], Duration.parse(args[1]));
        LockClient client = ZooKeeperLocks.builder(framework)
            .defaultOptions(LockOptions.renewed(Duration.ofSeconds(60)))
            .build();
        Lease own = client.get(args[3]).lock()) {
      own.onLost(loss -> jvm.lost("own", loss.reason()));
      Thread[] threads = new Thread[THREADS];
      for (int i = 0; i < THREADS; i++) {
        threads[i] = new Thread(() -> jvm.contend(client, args[2]));
        threads[i].start();
      }
      say("ready");
      for (String line = commands.readLine();
          line != null && !line.equals("stop");
          line = commands.readLine()) {
        say(Integer.toString(jvm.turns.get()));
      }
      jvm.stopped = true;
      for (Thread thread : threads) {
        thread.join();
      }
    }
    jvm.file.close();
    say(jvm.failures.get() + " " + jvm.losses.get());
    Runtime.getRuntime().halt(0);
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private void lost(String what, Object reason) {
    losses.incrementAndGet();
    System.err.println("lost: " + what + ", " + reason);
  }

  private void contend(LockClient client, String name) {
    while (!stopped) {
      try {
        take(client, name);
      } catch (LockStoreException e) {
        // An election; the next attempt shows whether the servers carry on.
        failures.incrementAndGet();
      } catch (LockLostException e) {
        lost(name, e.getMessage());
      } catch (InterruptedException | RuntimeException | Error e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private void take(LockClient client, String name) throws InterruptedException {
    try (Lease lease = client.get(name).lock()) {
      long beganNanos = System.nanoTime();
      long believedNanos = beganNanos;
      long nowNanos = beganNanos;
      while (nowNanos - beganNanos < Duration.ofMillis(HOLD_MILLIS).toNanos()) {
        Thread.sleep(1);
        // Read before the look: the belief lasted at least until then.
        nowNanos = System.nanoTime();
        if (!lease.isHeld()) {
          break;
        }
        believedNanos = nowNanos;
      }
      String turn = beganNanos + " " + believedNanos + " " + lease.token();
      synchronized (file) {
        file.println(turn);
      }
      turns.incrementAndGet();
    }
  }
}
