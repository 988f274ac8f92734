package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Calls that lose the connection once, with a request or with its answer: they ask again. What is
 * sent in one go is one request. On one server.
 */
class LostConnectionTest extends ServerTest {
  private static final Duration HOLD = Duration.ofSeconds(60);

  private final Stores.JumpingTime time = new Stores.JumpingTime();
  private CuratorFramework framework;
  private ZooKeeperStore near;
  private FaultProxy proxy;
  private CuratorFramework throughProxy;
  private ZooKeeperStore far;
  private long requestsBefore;

  @BeforeEach
  void open() throws Exception {
    framework = openFramework();
    near = closeLater(Stores.open(framework));
    proxy = openProxy();
    throughProxy = openFramework(proxy);
    far = closeLater(Stores.open(throughProxy, "test", time, new Stores.Events()));
  }

  /** Loses the connection with the request of that number from now, or with its answer. */
  private void lose(Link.Direction direction, int request) {
    // No answer comes before all that is sent in one go has been counted as one request, though
    // its sender may be held up: a sync can be answered before the listing after it is sent, which
    // would be a request of its own. A listing that is lost alone is not repeated, for it may be
    // too long (Holders.names).
    proxy.delay(Link.Direction.REQUESTS, Duration.ofMillis(200));
    requestsBefore = proxy.requests();
    if (direction == Link.Direction.REQUESTS) {
      proxy.dropRequest(request);
    } else {
      proxy.dropReply(request);
    }
  }

  private void assertLost(int request) {
    assertThat(proxy.requests() - requestsBefore)
        .as("requests up to the lost one, and that of a new connection")
        .isGreaterThan(request);
  }

  private List<String> children(String name) throws Exception {
    try {
      return framework.getChildren().forPath(Stores.path(name));
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    }
  }

  /** Leaves a mark whose time is over. */
  private void leaveAnOldMark(String name) throws Exception {
    framework
        .create()
        .creatingParentContainersIfNeeded()
        .forPath(
            Stores.path(name) + "/" + Names.ofMark(7),
            new NodeData(Duration.ZERO, Instant.EPOCH, "somebody").bytes());
    // The clock's node is made by who first needs it.
    assertThat(near.inspect(new LockKey(LockKind.MUTEX, name))).isEmpty();
  }

  private Grant leaveAMark(String name) throws Exception {
    Grant grant = Stores.take(near, Stores.claim(name, Stores.TTL, HOLD));
    assertThat(near.release(grant, HOLD)).isEqualTo(ReleaseOutcome.RELEASED);
    return grant;
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 2", "REPLIES, 2", "REQUESTS, 3", "REPLIES, 3"})
  void whoReadsAndDeletesAnOldMarkGetsTheLock(Link.Direction lost, int request) throws Exception {
    String name = Claims.freshName();
    leaveAnOldMark(name);
    lose(lost, request);
    Optional<Grant> grant = far.tryAcquire(Stores.claim(name));
    assertLost(request);
    assertThat(grant).isPresent();
    assertThat(children(name)).containsExactly(node(grant.get()).name());
    assertThat(far.release(grant.get(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private static OwnNode node(Grant grant) {
    return ((ZooKeeperGrant) grant).node();
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 1", "REPLIES, 1", "REQUESTS, 2", "REPLIES, 2"})
  void theHolderIsRead(Link.Direction lost, int request) throws Exception {
    Grant grant = Stores.take(near, Stores.claim(Claims.freshName()));
    lose(lost, request);
    assertThat(far.inspect(grant.claim().key())).map(StoredHolder::number).hasValue(grant.number());
    assertLost(request);
    near.release(grant, Duration.ZERO);
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 1", "REPLIES, 1", "REQUESTS, 2", "REPLIES, 2", "REQUESTS, 3", "REPLIES, 3"
  })
  void allHoldersAreListed(Link.Direction lost, int request) throws Exception {
    String prefix = Claims.freshName();
    Grant held = Stores.take(near, Stores.claim(prefix + "/held"));
    Grant marked = leaveAMark(prefix + "/marked");
    assertThat(near.list(LockKind.MUTEX, prefix, 10)).hasSize(2);
    lose(lost, request);
    List<StoredLock> locks = far.list(LockKind.MUTEX, prefix, 10);
    assertLost(request);
    assertThat(locks)
        .extracting(lock -> lock.holder().number())
        .containsExactlyInAnyOrder(held.number(), marked.number());
    near.release(held, Duration.ZERO);
    assertThat(near.forceRelease(marked.claim().key(), marked.number())).isTrue();
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 2", "REPLIES, 2", "REQUESTS, 3", "REPLIES, 3"})
  void aHolderIsFreedByForce(Link.Direction lost, int request) throws Exception {
    Grant grant = Stores.take(near, Stores.claim(Claims.freshName()));
    lose(lost, request);
    assertThat(far.forceRelease(grant.claim().key(), grant.number())).isTrue();
    assertLost(request);
    assertThat(children(grant.claim().key().name())).isEmpty();
    assertThat(near.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 2", "REPLIES, 2"})
  void aMinimumHoldIsEndedByForce(Link.Direction lost, int request) throws Exception {
    Grant grant = leaveAMark(Claims.freshName());
    lose(lost, request);
    assertThat(far.forceRelease(grant.claim().key(), grant.number())).isTrue();
    assertLost(request);
    assertThat(children(grant.claim().key().name())).isEmpty();
    assertThat(far.forceRelease(grant.claim().key(), grant.number())).isFalse();
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({"REQUESTS, 2", "REPLIES, 2"})
  void anAttemptIsWithdrawn(Link.Direction lost, int request) throws Exception {
    Claim claim = Stores.claim(Claims.freshName());
    Grant grant = Stores.take(near, claim);
    lose(lost, request);
    far.withdraw(claim);
    assertLost(request);
    assertThat(children(claim.key().name())).isEmpty();
    assertThat(near.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({"REQUESTS, RELEASED", "REPLIES, RELEASED_OR_LOST"})
  void theMarkThatAReleaseLeftIsRemovedWhenItsTimeIsOver(
      Link.Direction lost, ReleaseOutcome outcome) throws Exception {
    String name = Claims.freshName();
    Grant grant = Stores.take(far, Stores.claim(name, Stores.TTL, HOLD));
    lose(lost, 1);
    assertThat(far.release(grant, HOLD)).isEqualTo(outcome);
    assertLost(1);
    assertThat(children(name)).containsExactly(Names.ofMark(grant.number()));
    time.jump(HOLD.plusSeconds(2));
    Await.untilAnswered("the mark is removed", () -> children(name).isEmpty());
  }

  @Test
  void aReleaseThatIsRepeatedInAnotherSessionFindsTheLeaseLost() throws Exception {
    Grant grant = Stores.take(far, Stores.claim(Claims.freshName()));
    ZooKeeper earlier = Frameworks.handle(throughProxy);
    proxy.refuse();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> far.release(grant, Duration.ZERO));
    SessionKiller.end(earlier, ZooKeeperServer.address(server));
    proxy.heal();
    Await.untilAnswered("there is a new session", () -> {
      ZooKeeper now = Frameworks.handle(throughProxy);
      return now.getSessionId() != earlier.getSessionId() && now.getState().isConnected();
    });
    assertThat(far.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  /** A handle that never connects; a listing is answered after the connection was lost. */
  @SuppressWarnings("try") // close() is ZooKeeper's, and can be interrupted
  private static final class LosesSyncs extends ZooKeeper {
    LosesSyncs() throws Exception {
      super("127.0.0.1:1", 1_000, event -> {});
    }

    @Override
    public void sync(String path, AsyncCallback.VoidCallback callback, Object context) {
      callback.processResult(Code.CONNECTIONLOSS.intValue(), path, context);
    }

    @Override
    public void getChildren(
        String path, Watcher watcher, AsyncCallback.ChildrenCallback callback, Object context) {
      callback.processResult(Code.OK.intValue(), path, context, List.of("of a server that lags"));
    }
  }

  @Test
  void aListingWhoseServerDidNotCatchUpCountsAsLost() throws Exception {
    ZooKeeper zk = closeLater(new LosesSyncs());
    assertThat(Wire.listNewest(zk, "/any").join().isConnectionLost()).isTrue();
  }
}
