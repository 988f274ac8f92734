package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** Fixed leases that outlast their session, so that they are confirmed again and again. */
class FixedLeasesTest extends ServerTest {
  private static final int LEASES = 200;
  private static final Duration SESSION = Duration.ofSeconds(16);

  /** For all leases, one after the other, longer than they are trusted. */
  private static final Duration ONE_WAY = Duration.ofMillis(30);

  @Test
  void manyFixedLeasesAreConfirmedTogetherOnASlowNetwork() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework framework =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port()), SESSION));
    LockClient client = closeLater(ZooKeeperLocks.builder(framework)
        .defaultOptions(LockOptions.fixed(Duration.ofMinutes(30)))
        .build());
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < LEASES; i++) {
      leases.add(client.get(Claims.freshName()).tryLock().orElseThrow());
    }
    proxy.delay(Link.Direction.REQUESTS, ONE_WAY);
    proxy.delay(Link.Direction.REPLIES, ONE_WAY);
    ZooKeeper zk = Frameworks.handle(framework);
    int sentBefore = Xids.sent(zk);
    long untilNanos = System.nanoTime() + SESSION.toNanos();
    while (System.nanoTime() - untilNanos < 0) {
      assertThat(leases).allMatch(Lease::isHeld);
      LockSupport.parkNanos(50_000_000);
    }
    assertThat(Xids.sent(zk) - sentBefore)
        .as("requests within the session's timeout")
        .isLessThan(LEASES / 2);
    proxy.heal();
    leases.forEach(Lease::close);
  }
}
