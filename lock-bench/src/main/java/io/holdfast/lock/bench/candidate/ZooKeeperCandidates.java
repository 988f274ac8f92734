package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.bench.scenario.Share;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

/** The candidates on ZooKeeper. */
final class ZooKeeperCandidates {
  private ZooKeeperCandidates() {}

  static List<Candidate> all() {
    return Candidate.list(
        List.of(Candidate.floor(
            "floor",
            "create + getChildren, delete",
            ZooKeeper.class,
            Scenario.ALL,
            BareZooKeeper::new)),
        HoldfastClient.candidates(
            url -> ZooKeeperLocks.builder(framework(url)), ZooKeeperLocks.Builder::build),
        Candidate.peer(
            "curator",
            "Curator InterProcessMutex",
            InterProcessMutex.class,
            Scenario.ALL,
            ZooKeeperCandidates::curator),
        Candidate.peer(
            "curator-reads",
            "Curator InterProcessReadWriteLock",
            InterProcessReadWriteLock.class,
            Scenario.READING,
            url -> {
              Function<String, InterProcessReadWriteLock> locks = readWriteLocks(url);
              return name -> reader(locks.apply(name));
            }),
        Candidate.peer(
            "curator-read-write",
            "Curator InterProcessReadWriteLock",
            InterProcessReadWriteLock.class,
            Scenario.MOSTLY_READING,
            url -> {
              Function<String, InterProcessReadWriteLock> locks = readWriteLocks(url);
              return name -> {
                InterProcessMutex write = locks.apply(name).writeLock();
                return Mutex.mostlyReading(
                    reader(locks.apply(name)), Mutex.of(write::acquire, write::release));
              };
            }),
        Candidate.peer(
            "curator-permits",
            "Curator InterProcessSemaphoreV2",
            InterProcessSemaphoreV2.class,
            Scenario.OF_PERMITS,
            ZooKeeperCandidates::semaphores));
  }

  /** Returns one lock for all threads that want a name. */
  private static Function<String, InterProcessReadWriteLock> readWriteLocks(String url) {
    CuratorFramework framework = framework(url);
    Map<String, InterProcessReadWriteLock> locks = new ConcurrentHashMap<>();
    return name -> locks.computeIfAbsent(
        name, any -> new InterProcessReadWriteLock(framework, "/bench-curator-rw/" + any));
  }

  private static Mutex reader(InterProcessReadWriteLock lock) {
    InterProcessMutex read = lock.readLock();
    return Mutex.of(read::acquire, read::release, Share.READ);
  }

  private static Client semaphores(String url) {
    CuratorFramework framework = framework(url);
    return name -> {
      InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(
          framework, "/bench-curator-permits/" + name, Scenario.PERMITS);
      Deque<Lease> own = new ArrayDeque<>();
      return Mutex.of(
          () -> own.push(semaphore.acquire()),
          () -> semaphore.returnLease(own.pop()),
          Share.permitOf(Scenario.PERMITS));
    };
  }

  private static CuratorFramework framework(String url) {
    CuratorFramework framework =
        CuratorFrameworkFactory.newClient(url, new ExponentialBackoffRetry(1_000, 3));
    framework.start();
    return framework;
  }

  private static Client curator(String url) {
    CuratorFramework framework = framework(url);
    Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
    return name -> {
      InterProcessMutex mutex = mutexes.computeIfAbsent(
          name, any -> new InterProcessMutex(framework, "/bench-curator/" + any));
      return Mutex.of(mutex::acquire, mutex::release);
    };
  }
}
