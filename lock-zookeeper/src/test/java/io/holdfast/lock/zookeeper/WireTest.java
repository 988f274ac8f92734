package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.AsyncCallback.ChildrenCallback;
import org.apache.zookeeper.AsyncCallback.DataCallback;
import org.apache.zookeeper.AsyncCallback.StatCallback;
import org.apache.zookeeper.AsyncCallback.VoidCallback;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests to a handle that answers as the test says, without a server. */
class WireTest {
  private static final String ROOT = "/locks";

  private Handle zk;
  private CuratorFramework framework;
  private Wire wire;

  @BeforeEach
  void open() throws Exception {
    zk = new Handle();
    framework = CuratorFrameworkFactory.builder()
        .connectString("127.0.0.1:1")
        .retryPolicy(new RetryForever(100))
        .ensembleTracker(false)
        .zookeeperFactory((addresses, timeout, watcher, readOnly) -> zk)
        .build();
    framework.start();
    wire = new Wire(framework, TimeSource.system(), Duration.ofSeconds(5));
  }

  @AfterEach
  void close() {
    framework.close();
  }

  /** A handle that never connects. */
  @SuppressWarnings("try") // close() is ZooKeeper's, and can be interrupted
  private static final class Handle extends ZooKeeper {
    /** The answers to deletions. */
    final Deque<Code> deletions = new ArrayDeque<>();

    /** The names of locks. Each has one holder; only the first one's node can be read. */
    final List<String> locks = new ArrayList<>();

    Handle() throws IOException {
      super("127.0.0.1:1", 1_000, event -> {});
    }

    @Override
    public void delete(String path, int version, VoidCallback callback, Object context) {
      callback.processResult(deletions.remove().intValue(), path, context);
    }

    @Override
    public void sync(String path, VoidCallback callback, Object context) {
      callback.processResult(0, path, context);
    }

    @Override
    public void exists(String path, boolean watch, StatCallback callback, Object context) {
      callback.processResult(0, path, context, new Stat());
    }

    @Override
    public void getChildren(
        String path, Watcher watcher, ChildrenCallback callback, Object context) {
      List<String> names = locks.stream()
          .map(name -> Names.of(new LockKey(LockKind.MUTEX, name)))
          .toList();
      callback.processResult(
          0, path, context, path.equals(ROOT) ? names : List.of("f".repeat(32) + "-0000000000"));
    }

    @Override
    public void getData(String path, Watcher watcher, DataCallback callback, Object context) {
      if (path.startsWith(Names.path(ROOT, new LockKey(LockKind.MUTEX, locks.get(0))) + "/")) {
        callback.processResult(
            0, path, context, "anything".getBytes(StandardCharsets.UTF_8), new Stat());
      }
    }
  }

  @Test
  void aDeletionThatTheEndOfASessionLeftUnansweredCountsAsOurs() throws Exception {
    zk.deletions.addAll(List.of(Code.SESSIONEXPIRED, Code.NONODE));
    assertThat(wire.deleteIfThere("/node", wire.deadline())).isTrue();
  }

  @Test
  void aDeletionOfWhatWasNeverThereIsNotOurs() throws Exception {
    zk.deletions.add(Code.NONODE);
    assertThat(wire.deleteIfThere("/node", wire.deadline())).isFalse();
  }

  @Test
  void aListThatHasAsManyHoldersAsItMayIsNotHeldUpByAnother() throws Exception {
    zk.locks.addAll(List.of("answered", "unanswered"));
    Holders holders = new Holders(wire, new Marks(wire, ROOT, List.of()), ROOT);
    assertThat(holders.list(LockKind.MUTEX, "", 1))
        .extracting(StoredLock::key)
        .containsExactly(new LockKey(LockKind.MUTEX, "answered"));
  }
}
