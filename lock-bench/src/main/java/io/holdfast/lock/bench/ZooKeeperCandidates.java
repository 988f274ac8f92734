package io.holdfast.lock.bench;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

/** Who is compared on ZooKeeper. */
final class ZooKeeperCandidates {
  private ZooKeeperCandidates() {}

  static List<Candidate> all() {
    return List.of(
        new Candidate(
            "floor",
            "floor: create + getChildren, delete",
            Candidate.Role.FLOOR,
            ZooKeeper.class,
            Scenario.ALL_BUT_LEASES,
            BareZooKeeper::new),
        new Candidate(
            "holdfast",
            "Holdfast",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            Scenario.ALL,
            url -> holdfast(url, true)),
        new Candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            url -> holdfast(url, false)),
        new Candidate(
            "curator",
            "Curator InterProcessMutex",
            Candidate.Role.PEER,
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

  private static Client holdfast(String url, boolean localHandOff) {
    CuratorFramework framework = framework(url);
    return new HoldfastClient(
        ZooKeeperLocks.builder(framework).localHandOff(localHandOff).build());
  }

  private static Client curator(String url) {
    CuratorFramework framework = framework(url);
    Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
    return name -> {
      InterProcessMutex mutex = mutexes.computeIfAbsent(
          name, any -> new InterProcessMutex(framework, "/bench-curator/" + any));
      return new Mutex() {
        @Override
        public void lock() throws Exception {
          mutex.acquire();
        }

        @Override
        public void unlock() throws Exception {
          mutex.release();
        }
      };
    };
  }
}
