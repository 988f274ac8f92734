package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of permits that are kept at ZooKeeper: a semaphore's node has one child, whose name
 * is the number, and all that is held or waits is below that. So a claim that says another number
 * finds no node to stand in.
 *
 * <p>That there is never a second child needs no lock: the child is made together with the node, or
 * in the place of the one before, in one step that fails if that one is not empty.
 */
final class PermitCounts {
  private final Wire wire;
  private final Marks marks;
  private final String root;
  private final List<ACL> acl;

  PermitCounts(Wire wire, Marks marks, String root, List<ACL> acl) {
    this.wire = wire;
    this.marks = marks;
    this.root = root;
    this.acl = acl;
  }

  /**
   * Makes the claim's number that of the semaphore.
   *
   * @throws StoreException it has another, and permits are held or others wait
   */
  void keep(Claim claim, Deadline deadline) throws StoreException {
    String semaphore = root + "/" + Names.of(claim.key());
    String wanted = root + "/" + Names.of(claim);
    while (true) {
      ZooKeeper zk = wire.handle();
      Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, semaphore), deadline);
      List<Op> ops = new ArrayList<>();
      if (listed.isAbsent()) {
        ops.add(container(semaphore));
      } else {
        Integer stored = stored(semaphore, listed.get());
        if (stored == null) {
          // Fails if somebody has made a child meanwhile.
          ops.add(Op.delete(semaphore, -1));
          ops.add(container(semaphore));
        } else if (stored == claim.permits()) {
          return;
        } else {
          ops.addAll(emptying(zk, claim, semaphore + "/" + stored, stored, deadline));
        }
      }
      ops.add(container(wanted));
      Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
      if (answer.isOk()) {
        return;
      }
      boolean overtaken = switch (answer.code()) {
        case NONODE, NODEEXISTS, NOTEMPTY -> true;
        default -> false;
      };
      if (!overtaken || deadline.isOver()) {
        wire.pauseBeforeRetry(answer, deadline);
      }
    }
  }

  private Op container(String path) {
    return Op.create(path, new byte[0], acl, CreateMode.CONTAINER);
  }

  /** Returns the operations that delete the node of another number, if nothing is below it. */
  private List<Op> emptying(ZooKeeper zk, Claim claim, String path, int stored, Deadline deadline)
      throws StoreException {
    Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, path), deadline);
    List<Op> ops = new ArrayList<>();
    if (!listed.isAbsent()) {
      PermitLine line = PermitLine.of(path, stored, listed.get());
      if (!line.isEmpty()) {
        throw StoreException.permitsDiffer(claim, stored);
      }
      List<String> names = line.marks();
      if (!names.isEmpty()) {
        List<Marks.Mark> found = marks.look(zk, path, names, deadline);
        if (!Marks.rest(found).equals(Duration.ZERO)) {
          throw StoreException.permitsDiffer(claim, stored);
        }
        found.forEach(mark -> ops.add(Op.delete(mark.path(), -1)));
      }
    }
    ops.add(Op.delete(path, -1));
    return ops;
  }

  /**
   * Returns the number that a semaphore has, or null if it has none, since nobody has used it for a
   * while.
   */
  static @Nullable Integer stored(String semaphore, List<String> children) throws StoreException {
    if (children.isEmpty()) {
      return null;
    }
    String child = children.get(0);
    try {
      if (children.size() == 1) {
        return Integer.valueOf(child);
      }
    } catch (NumberFormatException e) {
      // Refused below.
    }
    throw Line.foreign(semaphore, child);
  }

  /** Returns the number that a semaphore has now; null if it has none. */
  @Nullable
  Integer stored(ZooKeeper zk, LockKey key, Deadline deadline) throws StoreException {
    String semaphore = root + "/" + Names.of(key);
    Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, semaphore), deadline);
    return listed.isAbsent() ? null : stored(semaphore, listed.get());
  }
}
