package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Marks: nodes that keep a name taken for the rest of a minimum hold. A mark's age is measured by
 * the leader's clock alone, from the time at which it was written to the time of a node that is
 * written now for this purpose.
 */
final class Marks {
  private static final Duration LOOK_AGAIN_AFTER = Duration.ofMillis(10);

  private final Wire wire;
  private final String clock;
  private final List<ACL> acl;

  Marks(Wire wire, String root, List<ACL> acl) {
    this.wire = wire;
    this.clock = root + "/" + Names.CLOCK;
    this.acl = acl;
  }

  /**
   * An existing mark.
   *
   * @param since the time at which the attempt of its grant was made
   * @param rest the time for which it still counts
   */
  record Mark(String path, long number, String holder, Instant since, Duration rest) {}

  /** A mark that is being read. */
  record Reading(ZooKeeper zk, String path, CompletableFuture<Answer<Wire.Text>> text) {}

  /** A mark that exists. */
  private record Found(String path, Wire.Text text) {
    String name() {
      return path.substring(path.lastIndexOf('/') + 1);
    }
  }

  /** Asks for marks. */
  static List<Reading> read(ZooKeeper zk, String parent, List<String> names) {
    return names.stream()
        .map(name -> parent + "/" + name)
        .map(path -> new Reading(zk, path, Wire.read(zk, path, null)))
        .toList();
  }

  /** Returns the time by the leader's clock, which it gets by writing a node. */
  long nowMillis(ZooKeeper zk, Deadline deadline) throws StoreException {
    Answer<Stat> noted = noteTime(zk, deadline);
    if (noted.isAbsent()) {
      Answer<Boolean> made =
          wire.askAgain(() -> Wire.make(zk, clock, acl, CreateMode.PERSISTENT), deadline);
      if (made.code() != Code.NODEEXISTS) {
        made.requireOk();
      }
      noted = noteTime(zk, deadline);
    }
    return noted.get().getMtime();
  }

  private Answer<Stat> noteTime(ZooKeeper zk, Deadline deadline) throws StoreException {
    return wire.askAgain(() -> Wire.write(zk, clock, new byte[0], -1), deadline);
  }

  /** Waits for the marks that exist, including those whose time is over. */
  List<Mark> await(List<Reading> readings, long nowMillis, Deadline deadline)
      throws StoreException {
    return marks(found(readings, deadline), nowMillis);
  }

  private List<Found> found(List<Reading> readings, Deadline deadline) throws StoreException {
    List<Found> found = new ArrayList<>(readings.size());
    for (Reading reading : readings) {
      Answer<Wire.Text> answer = wire.askAgain(
          reading.text(), () -> Wire.read(reading.zk(), reading.path(), null), deadline);
      if (!answer.isAbsent()) {
        found.add(new Found(reading.path(), answer.get()));
      }
    }
    return found;
  }

  private static List<Mark> marks(List<Found> found, long nowMillis) throws StoreException {
    List<Mark> marks = new ArrayList<>(found.size());
    for (Found one : found) {
      marks.add(mark(one, nowMillis));
    }
    return marks;
  }

  private static Mark mark(Found found, long nowMillis) throws StoreException {
    Wire.Text text = found.text();
    long ageMillis = Math.max(0, nowMillis - text.stat().getMtime());
    Duration rest = text.text().duration().minusMillis(ageMillis);
    return new Mark(
        found.path(),
        number(found.name()),
        text.text().holder(),
        text.since(),
        rest.isNegative() ? Duration.ZERO : rest);
  }

  private static long number(String name) throws StoreException {
    try {
      return Long.parseLong(name.substring(Names.MARK_PREFIX.length()), 16);
    } catch (NumberFormatException e) {
      throw StoreException.refused("There is a node that is not a lock's: " + name, e);
    }
  }

  /**
   * Returns the time that the first in the line must still wait; zero if it need not wait, and the
   * marks are gone.
   */
  Duration settle(ZooKeeper zk, OwnNode node, List<String> names, Deadline deadline)
      throws StoreException {
    if (names.isEmpty()) {
      return Duration.ZERO;
    }
    List<Reading> readings = read(zk, node.parent(), names);
    long nowMillis = nowMillis(zk, deadline);
    List<Found> found = found(readings, deadline);
    for (Found one : found) {
      if (nowMillis < one.text().stat().getMtime()) {
        countAnew(zk, one, deadline);
      }
    }
    List<Mark> marks = marks(found, nowMillis);
    Duration rest = rest(marks);
    return rest.isZero() ? delete(zk, node, marks, deadline) : rest;
  }

  /**
   * Deletes marks whose time is over, if our own node exists.
   *
   * @return zero, or the time to the next look if our own node has gone
   */
  private Duration delete(ZooKeeper zk, OwnNode node, List<Mark> marks, Deadline deadline)
      throws StoreException {
    List<Op> ops = new ArrayList<>();
    ops.add(Op.check(node.path(), -1));
    marks.forEach(mark -> ops.add(Op.delete(mark.path(), -1)));
    while (true) {
      Answer<List<OpResult>> answer = wire.askAgain(() -> Wire.multi(zk, ops), deadline);
      if (!answer.isAbsent()) {
        answer.requireOk();
        return Duration.ZERO;
      }
      int absent = Wire.firstFailed(answer);
      if (absent == 0) {
        return LOOK_AGAIN_AFTER;
      }
      // Gone for good, whether by an earlier request of ours, whose answer was lost, or by another.
      ops.remove(absent);
    }
  }

  /**
   * Rewrites a mark whose time is in the future, since the leader's clock was set back. Counted
   * from now, it blocks no longer than intended.
   */
  private void countAnew(ZooKeeper zk, Found found, Deadline deadline) throws StoreException {
    Wire.Text text = found.text();
    // A refusal does not matter: another client rewrote the mark, or an earlier request of ours
    // did.
    Answer<Stat> unused = wire.askAgain(
        () -> Wire.write(zk, found.path(), text.text().bytes(), text.stat().getVersion()),
        deadline);
  }

  static Duration rest(List<Mark> marks) {
    return marks.stream().map(Mark::rest).max(Duration::compareTo).orElse(Duration.ZERO);
  }

  /** Returns the mark that keeps the name taken for the longest time, or null if none does. */
  static @Nullable Mark last(List<Mark> marks) {
    return marks.stream()
        .filter(mark -> !mark.rest().isZero())
        .max((a, b) -> a.rest().compareTo(b.rest()))
        .orElse(null);
  }
}
