package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.OperationType;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Guarded writes beyond what the kit asks; on one server. */
class GuardTest extends ServerTest {
  private static final byte[] WRITTEN = {1};

  private final String target = "/target-" + System.nanoTime();
  private CuratorFramework framework;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    framework.create().forPath(target, new byte[0]);
  }

  private boolean isWritten() throws Exception {
    return Arrays.equals(framework.getData().forPath(target), WRITTEN);
  }

  @Test
  void aWriteWhoseAnswerWasLostIsNotToldAsRefused() throws Exception {
    FaultProxy proxy = openProxy();
    CuratorFramework far = openFramework(proxy);
    LockClient client = closeLater(ZooKeeperLocks.builder(far).build());
    LockClient near = closeLater(ZooKeeperLocks.builder(framework).build());
    Lease lease = client.get(Claims.freshName()).tryLock().orElseThrow();
    ZooKeeperGuard guard = ZooKeeperGuard.of(lease);
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    Thread writer = new Thread(() -> {
      try {
        guard.commit(far, far.transactionOp().setData().forPath(target, WRITTEN));
        thrown.complete(null);
      } catch (Throwable e) {
        thrown.complete(e);
      }
    });
    // So slow that answers can be stopped when the write is on its way.
    proxy.delay(Link.Direction.REPLIES, Duration.ofSeconds(3));
    writer.start();
    Await.untilAnswered("it is written", this::isWritten);
    proxy.hold(Link.Direction.REPLIES);
    // The lease ends before the connection does, and with it whoever asks again.
    assertThat(near.get(lease.name()).forceRelease(lease.token())).isTrue();
    proxy.cut();
    proxy.heal();
    assertThat(thrown.get(60, TimeUnit.SECONDS))
        .as("what is told of a write that was made")
        .isInstanceOf(KeeperException.ConnectionLossException.class);
    assertThat(isWritten()).isTrue();
  }

  @Test
  void aRefusedWriteIsALossAndNothingIsWritten() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).build());
    Lease lease = client.get(Claims.freshName()).tryLock().orElseThrow();
    ZooKeeperGuard guard = ZooKeeperGuard.of(lease);
    assertThat(client.get(lease.name()).forceRelease(lease.token())).isTrue();
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() ->
            guard.commit(framework, framework.transactionOp().setData().forPath(target, WRITTEN)));
    assertThat(isWritten()).isFalse();
    assertThat(lease.isHeld()).isFalse();
  }

  @Test
  void theResultsAreAsCuratorTellsThem() throws Exception {
    CuratorFramework team = framework.usingNamespace(target.substring(1));
    LockClient client = closeLater(ZooKeeperLocks.builder(team).build());
    try (Lease lease = client.get("a").tryLock().orElseThrow()) {
      List<CuratorTransactionResult> results = ZooKeeperGuard.of(lease)
          .commit(
              team,
              team.transactionOp()
                  .create()
                  .withMode(CreateMode.PERSISTENT_SEQUENTIAL)
                  .forPath("/e", WRITTEN),
              team.transactionOp().setData().forPath("/holdfast", WRITTEN),
              team.transactionOp().check().forPath("/holdfast"));
      assertThat(results)
          .extracting(CuratorTransactionResult::getType)
          .containsExactly(OperationType.CREATE, OperationType.SET_DATA, OperationType.CHECK);
      assertThat(results.get(0).getForPath()).isEqualTo("/e");
      assertThat(team.getData().forPath(results.get(0).getResultPath())).isEqualTo(WRITTEN);
      assertThat(results.get(1).getResultStat().getVersion()).isEqualTo(1);
    }
  }
}
