package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Asks whether nodes exist, with one {@code multi} of checks for all of them. That is a write, so a
 * majority confirms it; a read could be answered by a server that is cut off from the majority.
 */
final class Checks {
  /** The most characters of paths in one request; the server refuses packets of a megabyte. */
  private static final int BATCH_CHARS_MAX = 200_000;

  /** The trust if no node is left to trust: it limits nothing. */
  private static final Duration FOR_EVER = Duration.ofNanos(Long.MAX_VALUE);

  private final Wire wire;
  private final SessionTrust trust;

  Checks(Wire wire, SessionTrust trust) {
    this.wire = wire;
    this.trust = trust;
  }

  /**
   * The state of nodes.
   *
   * @param stands for each node, whether it exists
   * @param trusted the time for which the session of the existing nodes is certain to live, from
   *     before the request
   */
  record Standing(List<Boolean> stands, Duration trusted) {}

  /**
   * Asks about nodes.
   *
   * @param asked the nodes; null for one whose grant is over already
   * @throws StoreException there is no answer, or it is not known how long the session lives
   */
  Standing standing(List<@Nullable OwnNode> asked) throws StoreException {
    Deadline deadline = wire.deadline();
    Boolean[] standing = new Boolean[asked.size()];
    Arrays.fill(standing, false);
    Duration trusted = FOR_EVER;
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
      trusted = ZooKeeperGrant.shorter(trusted, ask(asked, batch, standing, deadline));
    }
    return new Standing(List.of(standing), trusted);
  }

  /**
   * Asks about a batch, leaving out nodes that turn out to be gone, until all the others exist.
   *
   * @return the time for which the session of the existing nodes is certain to live
   */
  private Duration ask(
      List<@Nullable OwnNode> asked, List<Integer> batch, Boolean[] standing, Deadline deadline)
      throws StoreException {
    List<Integer> open = new ArrayList<>(batch);
    while (!open.isEmpty()) {
      ZooKeeper zk = wire.handle();
      long session = zk.getSessionId();
      // A session that was replaced is no longer kept alive.
      open.removeIf(i -> node(asked, i).session() != session);
      if (open.isEmpty()) {
        break;
      }
      List<Op> ops = new ArrayList<>(open.size());
      open.forEach(i -> ops.add(Op.check(node(asked, i).path(), -1)));
      SessionTrust.Asked moment = trust.asking(zk);
      Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
      if (answer.isOk()) {
        Duration trusted = trust.confirmed(moment);
        if (trusted.isZero()) {
          throw StoreException.unanswered(
              "The lock stands, but its session was out of touch with the servers for nearly as"
                  + " long as it lasts, and may end at any moment",
              null);
        }
        open.forEach(i -> standing[i] = true);
        return trusted;
      } else if (answer.isSessionOver()) {
        break;
      } else if (answer.isAbsent()) {
        open.remove(Wire.firstFailed(answer));
      } else if (answer.isConnectionLost()) {
        trust.disconnected(moment);
        wire.pauseBeforeRetry(answer, deadline);
      } else {
        throw answer.failure();
      }
    }
    return FOR_EVER;
  }

  private static OwnNode node(List<@Nullable OwnNode> asked, int index) {
    return Objects.requireNonNull(asked.get(index));
  }
}
