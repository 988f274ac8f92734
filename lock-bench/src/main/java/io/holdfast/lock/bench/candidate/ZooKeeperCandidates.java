package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Locks;
import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
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
            Scenario.OF_MUTEXES,
            BareZooKeeper::new)),
        HoldfastClient.candidates(
            EnumSet.allOf(Locks.class), url -> ZooKeeperLocks.builder(framework(url))),
        Candidate.peer(
            "curator",
            "Curator InterProcessMutex",
            InterProcessMutex.class,
            Scenario.OF_MUTEXES,
            ZooKeeperCandidates::curator),
        Candidate.peer(
            "curator-permits",
            "Curator InterProcessSemaphoreV2",
            InterProcessSemaphoreV2.class,
            Scenario.of(EnumSet.of(Locks.SEMAPHORES)),
            ZooKeeperCandidates::curatorPermits),
        Candidate.peer(
            "curator-read-write",
            "Curator InterProcessReadWriteLock",
            InterProcessReadWriteLock.class,
            Scenario.of(EnumSet.of(Locks.READ_WRITE_LOCKS)),
            url -> new CuratorReadWriteLocks(framework(url))));
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
      return Handle.of(mutex::acquire, mutex::release);
    };
  }

  private static Client curatorPermits(String url) {
    CuratorFramework framework = framework(url);
    Map<String, InterProcessSemaphoreV2> semaphores = new ConcurrentHashMap<>();
    return Client.ofSemaphores((name, permits) -> {
      InterProcessSemaphoreV2 semaphore = semaphores.computeIfAbsent(
          name,
          any -> new InterProcessSemaphoreV2(framework, "/bench-curator-permits/" + any, permits));
      return Handle.keeping(semaphore::acquire, semaphore::returnLease);
    });
  }
}
