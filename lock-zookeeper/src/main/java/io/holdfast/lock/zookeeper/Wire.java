package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests on the framework's own handle, without waiting for the answers to earlier ones.
 * The server carries them out in the order in which they were sent; Curator's own background
 * requests may be queued again, and so lose that order.
 */
final class Wire {
  private static final String EVENT_THREAD = "org.apache.zookeeper.ClientCnxn$EventThread";
  private static final Duration RETRY_PAUSE = Duration.ofMillis(20);

  private final CuratorFramework framework;
  private final TimeSource time;
  private final Duration timeout;

  Wire(CuratorFramework framework, TimeSource time, Duration timeout) {
    this.framework = framework;
    this.time = time;
    this.timeout = timeout;
  }

  boolean isOpen() {
    return framework.getState() == CuratorFrameworkState.STARTED;
  }

  /** Returns the handle of the current session; it may be without a connection. */
  ZooKeeper handle() throws StoreException {
    if (!isOpen()) {
      throw StoreException.refused("The CuratorFramework is closed", null);
    }
    try {
      return framework.getZookeeperClient().getZooKeeper();
    } catch (Exception e) {
      throw StoreException.refused("Curator gave no handle: " + e, e);
    }
  }

  /**
   * Returns the deadline of a call that begins now.
   *
   * @throws StoreException this is the thread that brings the answers, so it would wait for itself
   */
  Deadline deadline() throws StoreException {
    if (Thread.currentThread().getClass().getName().equals(EVENT_THREAD)) {
      throw StoreException.refused(
          "This is ZooKeeper's event thread (of a watcher, a background callback, a listener), which"
              + " brings the answers: a lock call would wait for itself. Call it on another thread:"
              + " pass an Executor to inBackground(...), addListener(...) or whatever called this",
          null);
    }
    return Deadline.after(timeout, time);
  }

  /** Waits for an answer, interrupted or not. */
  <T> Answer<T> await(CompletableFuture<Answer<T>> future, Deadline deadline)
      throws StoreException {
    return deadline.<Answer<T>, StoreException>awaitUninterruptibly(leftNanos -> {
      try {
        return future.get(leftNanos, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        throw StoreException.unanswered("ZooKeeper did not answer within " + deadline.whole(), e);
      } catch (ExecutionException e) {
        throw StoreException.unanswered("The request failed: " + e.getCause(), e.getCause());
      }
    });
  }

  /** Sends a request, again and again until there is an answer or no time is left. */
  <T> Answer<T> untilAnswered(Supplier<CompletableFuture<Answer<T>>> request, Deadline deadline)
      throws StoreException {
    return untilAnswered(request.get(), request, deadline);
  }

  /** Does {@link #untilAnswered(Supplier, Deadline)} for a request that was sent already. */
  <T> Answer<T> untilAnswered(
      CompletableFuture<Answer<T>> sent,
      Supplier<CompletableFuture<Answer<T>>> again,
      Deadline deadline)
      throws StoreException {
    Answer<T> answer = await(sent, deadline);
    while (answer.isConnectionLost()) {
      pauseBeforeRetry(answer, deadline);
      answer = await(again.get(), deadline);
    }
    return answer;
  }

  /** Deletes a node, in whatever session there is; returns whether it was there. */
  boolean deleteIfThere(String path, Deadline deadline) throws StoreException {
    boolean mayBeDone = false;
    while (true) {
      Answer<Boolean> answer = await(delete(handle(), path), deadline);
      if (answer.isOk() || answer.isAbsent()) {
        // An earlier request without an answer may have deleted it: then it counts as ours.
        return answer.isOk() || mayBeDone;
      }
      mayBeDone = true;
      pauseBeforeRetry(answer, deadline);
    }
  }

  /** Pauses before a retry, or throws if a retry makes no sense. */
  void pauseBeforeRetry(Answer<?> answer, Deadline deadline) throws StoreException {
    boolean again = answer.isSessionOver() || answer.isConnectionLost();
    if (!again || deadline.isOver() || !isOpen()) {
      throw answer.failure();
    }
    // With the interrupt flag cleared: a thread whose flag is set does not park.
    var unused = deadline.within(RETRY_PAUSE).awaitUninterruptibly(leftNanos -> {
      time.park(this, leftNanos);
      return true;
    });
  }

  /**
   * Sends a request.
   *
   * @param request sends it, and passes the code of the answer and its value to the callback that
   *     it is given
   */
  static <T> CompletableFuture<Answer<T>> send(Consumer<BiConsumer<Integer, @Nullable T>> request) {
    CompletableFuture<Answer<T>> future = new CompletableFuture<>();
    request.accept((code, value) -> future.complete(Answer.of(code, value)));
    return future;
  }

  /** Creates a node without content, unless it exists already. */
  static CompletableFuture<Answer<Boolean>> make(
      ZooKeeper zk, String path, List<ACL> acl, CreateMode mode) {
    int exists = Code.NODEEXISTS.intValue();
    return send(answer -> zk.create(
        path,
        new byte[0],
        acl,
        mode,
        (code, p, ctx, name, stat) ->
            answer.accept(code == exists ? Code.OK.intValue() : code, true),
        null));
  }

  /** Asks whether a node exists, and how many children it has. */
  static CompletableFuture<Answer<Stat>> stat(ZooKeeper zk, String path) {
    return send(
        answer -> zk.exists(path, false, (code, p, ctx, stat) -> answer.accept(code, stat), null));
  }

  static CompletableFuture<Answer<List<String>>> list(ZooKeeper zk, String path) {
    return list(zk, path, null);
  }

  /** Lists children; leaves the watch only if their parent exists. */
  static CompletableFuture<Answer<List<String>>> list(
      ZooKeeper zk, String path, @Nullable Watcher watcher) {
    return send(answer ->
        zk.getChildren(path, watcher, (code, p, ctx, names) -> answer.accept(code, names), null));
  }

  /** Lists the children that the leader knows, and not only those that this server has heard of. */
  static CompletableFuture<Answer<List<String>>> listNewest(ZooKeeper zk, String path) {
    return listAfter(sync(zk, path), zk, path);
  }

  /**
   * Lists children after a {@code sync} that was sent just before. If the {@code sync} failed, the
   * server may not have caught up, and its failure is the answer.
   */
  static CompletableFuture<Answer<List<String>>> listAfter(
      CompletableFuture<Answer<Boolean>> sync, ZooKeeper zk, String path) {
    return list(zk, path)
        .thenCombine(
            sync, (listed, synced) -> synced.isOk() ? listed : new Answer<>(synced.code(), null));
  }

  /** Makes this server catch up with the leader before it answers the next request. */
  static CompletableFuture<Answer<Boolean>> sync(ZooKeeper zk, String path) {
    return send(answer -> zk.sync(path, (code, p, ctx) -> answer.accept(code, true), null));
  }

  /** A node as it was read. */
  record Node(NodeData data, Stat stat) {
    /**
     * Returns the time at which the node's attempt was made, by the leader's clock; for a mark, the
     * attempt of its grant.
     */
    Instant since() {
      Instant noted = data.since();
      return noted == null ? Instant.ofEpochMilli(stat.getCtime()) : noted;
    }

    /** Returns the number of the grant of the node's attempt. */
    long number() {
      Long noted = data.number();
      return noted == null ? stat.getCzxid() : noted;
    }
  }

  /** A node that is being read. */
  record Reading(ZooKeeper zk, String path, CompletableFuture<Answer<Node>> node) {}

  /** Begins to read a node. */
  static Reading beginRead(ZooKeeper zk, String path) {
    return new Reading(zk, path, read(zk, path, null));
  }

  /** Waits for a node that is being read; asks again if the answer was lost. */
  Answer<Node> untilRead(Reading reading, Deadline deadline) throws StoreException {
    return untilAnswered(reading.node(), () -> read(reading.zk(), reading.path(), null), deadline);
  }

  /** Reads a node; leaves the watch only if the node exists. */
  static CompletableFuture<Answer<Node>> read(
      ZooKeeper zk, String path, @Nullable Watcher watcher) {
    return send(answer -> zk.getData(
        path,
        watcher,
        (code, p, ctx, data, stat) ->
            answer.accept(code, stat == null ? null : new Node(NodeData.of(data), stat)),
        null));
  }

  static CompletableFuture<Answer<Stat>> write(
      ZooKeeper zk, String path, byte[] data, int version) {
    return send(answer ->
        zk.setData(path, data, version, (code, p, ctx, stat) -> answer.accept(code, stat), null));
  }

  static CompletableFuture<Answer<Boolean>> delete(ZooKeeper zk, String path) {
    return send(answer -> zk.delete(path, -1, (code, p, ctx) -> answer.accept(code, true), null));
  }

  /**
   * Carries out all operations or none. With a write or a check among them, the leader answers, and
   * a follower that is cut off can't.
   */
  static CompletableFuture<Answer<List<OpResult>>> multi(ZooKeeper zk, List<Op> ops) {
    return send(
        answer -> zk.multi(ops, (code, p, ctx, results) -> answer.accept(code, results), null));
  }

  /** Returns the index of the operation because of which all failed. */
  static int firstFailed(Answer<List<OpResult>> answer) throws StoreException {
    List<OpResult> results = answer.value();
    for (int i = 0; results != null && i < results.size(); i++) {
      if (results.get(i) instanceof OpResult.ErrorResult error
          && error.getErr() == answer.code().intValue()) {
        return i;
      }
    }
    throw answer.failure();
  }

  static CompletableFuture<Answer<List<ACL>>> acl(ZooKeeper zk, String path) {
    return send(answer ->
        zk.getACL(path, new Stat(), (code, p, ctx, acl, stat) -> answer.accept(code, acl), null));
  }
}
