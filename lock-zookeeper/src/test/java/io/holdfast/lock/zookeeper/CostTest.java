package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The work of the servers, by their own count; on one server, that does nothing else. */
class CostTest extends ServerTest {
  private CuratorFramework framework;
  private ZooKeeperStore store;

  /** On the shared server, what other tests left ends later, and each end is a write. */
  CostTest() {
    super(ZooKeeperServer.start());
  }

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    store = closeLater(Stores.open(framework));
  }

  private ZooKeeperStore another() throws StoreException {
    return closeLater(Stores.open(openFramework()));
  }

  @Test
  void whoAsksAgainForANameThatIsTakenWritesNothing() throws Exception {
    String name = Claims.freshName();
    // No container, which the server would remove when it is empty.
    framework.create().creatingParentContainersIfNeeded().forPath(Stores.path(name));
    Grant grant = Stores.take(store, Stores.claim(name));
    ZooKeeperStore other = another();
    assertThat(other.tryAcquire(Stores.claim(name))).isEmpty();
    long before = FourLetters.writes(server);
    for (int i = 0; i < 10; i++) {
      assertThat(other.tryAcquire(Stores.claim(name))).isEmpty();
    }
    assertThat(FourLetters.writes(server) - before)
        .as("writes of 10 attempts in vain")
        .isZero();
    store.release(grant, Duration.ZERO);
    Grant next = Stores.take(other, Stores.claim(name));
    other.release(next, Duration.ZERO);
    // It was seen free: so the first request is a write again, and one round trip.
    int sent = Xids.sent(Frameworks.handle(framework));
    store.release(Stores.take(store, Stores.claim(name)), Duration.ZERO);
    assertThat(Xids.sent(Frameworks.handle(framework)) - sent).isEqualTo(3);
  }
}
