package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Claims;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A waiter's watch on the one before it, and what others do to it; on one server. */
class WatchTest extends ServerTest {
  private final BlockingQueue<Boolean> wakeUps = new LinkedBlockingQueue<>();
  private CuratorFramework framework;
  private ZooKeeperStore holder;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    holder = closeLater(Stores.open(framework));
  }

  private void awaitWakeUp(String what) throws InterruptedException {
    // Sooner than the waiter would look by itself.
    assertThat(wakeUps.poll(LineTicket.RECHECK_AFTER_MIN.toMillis() / 2, TimeUnit.MILLISECONDS))
        .as(what)
        .isNotNull();
  }

  @Test
  void aForeignWriteToTheNodeBeforeItCostsAWaiterNothing() throws Exception {
    String name = Claims.freshName();
    Grant first = Stores.take(holder, Stores.claim(name));
    ZooKeeperStore waiting = closeLater(Stores.open(openFramework()));
    Acquisition.Queued queued = Stores.queue(waiting, Stores.claim(name), () -> wakeUps.add(true));
    framework
        .setData()
        .forPath(
            ((ZooKeeperGrant) first).node().path(),
            "an operator's note".getBytes(StandardCharsets.UTF_8));
    awaitWakeUp("the foreign write");
    assertThat(queued.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    holder.release(first, Duration.ZERO);
    awaitWakeUp("the release");
    Ticket.Status status = queued.ticket().poll();
    assertThat(status).isInstanceOf(Ticket.Granted.class);
    waiting.release(((Ticket.Granted) status).grant(), Duration.ZERO);
  }

  @Test
  void aWatchThatAnotherClientOfTheSessionTookBackIsLeftAnew() throws Exception {
    String name = Claims.freshName();
    Grant first = Stores.take(holder, Stores.claim(name));
    CuratorFramework shared = openFramework();
    ZooKeeperStore waiting = closeLater(Stores.open(shared));
    Acquisition.Queued queued = Stores.queue(waiting, Stores.claim(name), () -> wakeUps.add(true));
    ZooKeeper zk = Frameworks.handle(shared);
    zk.removeAllWatches(((ZooKeeperGrant) first).node().path(), WatcherType.Data, false);
    awaitWakeUp("the end of the watch");
    assertThat(queued.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(FourLetters.watchesOn(server, Stores.path(name))).isEqualTo(1);
    holder.release(first, Duration.ZERO);
    awaitWakeUp("the release");
    assertThat(queued.ticket().poll()).isInstanceOf(Ticket.Granted.class);
  }

  @Test
  void aConnectionThatIsLostAsAWaiterLinesUpCostsItNothing() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    ZooKeeperStore waiting = closeLater(Stores.open(far));
    for (int request = 1; request <= 2; request++) {
      String name = Claims.freshName();
      Grant first = Stores.take(holder, Stores.claim(name));
      // The node and the line, or the look at the one before it.
      proxy.dropReply(request);
      Acquisition.Queued queued =
          Stores.queue(waiting, Stores.claim(name), () -> wakeUps.add(true));
      assertThat(framework.getChildren().forPath(Stores.path(name))).hasSize(2);
      wakeUps.clear();
      holder.release(first, Duration.ZERO);
      awaitWakeUp("the release");
      Ticket.Status status = queued.ticket().poll();
      assertThat(status).as("request %s", request).isInstanceOf(Ticket.Granted.class);
      waiting.release(((Ticket.Granted) status).grant(), Duration.ZERO);
    }
  }
}
