package io.holdfast.lock.zookeeper;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;

/**
 * A JVM with many waiters, told what to do by lines on its standard input:
 *
 * <ul>
 *   <li>{@code wait NAME WAITER}: a client of its own waits, says {@code granted WAITER TOKEN} when
 *       it has the lock, and keeps it until {@code release WAITER};
 *   <li>{@code crowd NAME THREADS TURNS}: threads of one client take the lock, so many times each;
 *       says {@code done GRANTS}, with the number of grants that it took.
 * </ul>
 *
 * <p>It ends when its input does.
 */
final class WaitingJvm {
  private final CuratorFramework framework;
  private final Map<String, CountDownLatch> releases = new ConcurrentHashMap<>();

  private WaitingJvm(CuratorFramework framework) {
    this.framework = framework;
  }

  /** The server's address. */
  public static void main(String[] args) throws Exception {
    WaitingJvm jvm = new WaitingJvm(Frameworks.open(args[0]));
    say("ready");
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ", -1);
      switch (words[0]) {
        case "wait" -> {
          jvm.releases.put(words[2], new CountDownLatch(1));
          start(() -> jvm.await(words[1], words[2]));
        }
        case "release" -> jvm.releases.get(words[1]).countDown();
        case "crowd" ->
          start(() -> jvm.crowd(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3])));
        default -> throw new IllegalArgumentException(line);
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private interface Body {
    void run() throws Exception;
  }

  private static Thread start(Body body) {
    Thread thread = new Thread(() -> {
      try {
        body.run();
      } catch (Exception | Error e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    });
    thread.start();
    return thread;
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private void await(String name, String waiter) throws InterruptedException {
    try (LockClient client = ZooKeeperLocks.builder(framework).build();
        Lease lease = client.get(name).lock()) {
      say("granted " + waiter + " " + lease.token());
      releases.get(waiter).await();
    }
    say("released " + waiter);
  }

  private void crowd(String name, int threads, int turns) throws InterruptedException {
    java.util.Set<Long> grants = ConcurrentHashMap.newKeySet();
    try (LockClient client = ZooKeeperLocks.builder(framework).build()) {
      Thread[] all = new Thread[threads];
      for (int t = 0; t < threads; t++) {
        all[t] = start(() -> {
          for (int i = 0; i < turns; i++) {
            try (Lease lease = client.get(name).lock()) {
              grants.add(lease.token() >>> 10);
              Thread.sleep(1);
            }
          }
        });
      }
      for (Thread thread : all) {
        thread.join();
      }
    }
    say("done " + grants.size());
  }
}
