package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Asks whether nodes stand: one {@code multi} of checks for all of them. That is a write, so a
 * majority confirms it; a read would be answered by a server that the others have given up.
 */
final class Checks {
  /** The server refuses packets of a megabyte. */
  private static final int BATCH_CHARS_MAX = 200_000;

  private final Wire wire;
  private final TimeSource time;
  private final Confirmation confirmation;

  Checks(Wire wire, TimeSource time, Confirmation confirmation) {
    this.wire = wire;
    this.time = time;
    this.confirmation = confirmation;
  }

  /**
   * Asks.
   *
   * @param asked null stands for one that is over already
   * @return one answer for each
   */
  List<Boolean> standing(List<@Nullable OwnNode> asked) throws StoreException {
    Deadline deadline = wire.deadline();
    Boolean[] standing = new Boolean[asked.size()];
    Arrays.fill(standing, false);
    int from = 0;
    while (from < asked.size()) {
      List<Integer> batch = new ArrayList<>();
      int chars = 0;
      for (; from < asked.size() && chars < BATCH_CHARS_MAX; from++) {
        OwnNode node = asked.get(from);
        if (node != null) {
          batch.add(from);
          chars += node.path().length();
        }
      }
      ask(asked, batch, standing, deadline);
    }
    return List.of(standing);
  }

  /** All of a batch, without those that turn out to be gone, until the rest stands. */
  private void ask(
      List<@Nullable OwnNode> asked, List<Integer> batch, Boolean[] standing, Deadline deadline)
      throws StoreException {
    List<Integer> open = new ArrayList<>(batch);
    while (!open.isEmpty()) {
      ZooKeeper zk = wire.handle();
      long session = zk.getSessionId();
      // A session that was replaced is not kept alive any more.
      open.removeIf(i -> node(asked, i).session() != session);
      if (open.isEmpty()) {
        return;
      }
      List<Op> ops = new ArrayList<>(open.size());
      open.forEach(i -> ops.add(Op.check(node(asked, i).path(), -1)));
      long sentNanos = time.nanos();
      Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
      if (answer.isOk()) {
        confirmation.confirmed(session, sentNanos);
        open.forEach(i -> standing[i] = true);
        return;
      } else if (answer.isSessionOver()) {
        return;
      } else if (answer.isAbsent()) {
        open.remove(firstAbsent(answer));
      } else if (answer.code() == Code.CONNECTIONLOSS) {
        wire.pauseBeforeRetry(answer, deadline);
      } else {
        throw answer.failure();
      }
    }
  }

  private static OwnNode node(List<@Nullable OwnNode> asked, int index) {
    return java.util.Objects.requireNonNull(asked.get(index));
  }

  private static int firstAbsent(Answer<List<OpResult>> answer) throws StoreException {
    List<OpResult> results = answer.value();
    for (int i = 0; results != null && i < results.size(); i++) {
      if (results.get(i) instanceof OpResult.ErrorResult error
          && error.getErr() == Code.NONODE.intValue()) {
        return i;
      }
    }
    throw answer.failure();
  }
}
