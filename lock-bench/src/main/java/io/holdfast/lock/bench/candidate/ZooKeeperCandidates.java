package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
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
        HoldfastClient.candidates(url -> ZooKeeperLocks.builder(framework(url))),
        Candidate.peer(
            "curator",
            "Curator InterProcessMutex",
            InterProcessMutex.class,
            Scenario.ALL,
            ZooKeeperCandidates::curator));
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
