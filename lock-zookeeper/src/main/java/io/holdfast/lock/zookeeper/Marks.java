package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Marks: nodes that keep a name taken for the rest of a minimum hold. A mark's age is measured by
 * the leader's clock alone, from the time at which it was written to that of the clock node, which
 * is written now for this purpose.
 */
final class Marks {
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
   * @param number the number of the grant that left it
   */
  record Mark(String path, long number, Wire.Node node) {
    /** Returns the time for which it still counts; zero if its time is over. */
    Duration rest(long nowMillis) {
      long ageMillis = Math.max(0, nowMillis - node.stat().getMtime());
      Duration rest = node.data().duration().minusMillis(ageMillis);
      return rest.isNegative() ? Duration.ZERO : rest;
    }
  }

  /** Begins to read marks. */
  static List<Wire.Reading> read(ZooKeeper zk, String parent, List<String> names) {
    return names.stream().map(name -> Wire.beginRead(zk, parent + "/" + name)).toList();
  }

  /**
   * Writes to the clock node, which is created if it is missing, and returns the time of that by
   * the leader's clock.
   */
  long writeClock(ZooKeeper zk, Deadline deadline) throws StoreException {
    Answer<Stat> noted = writeClockIfThere(zk, deadline);
    if (noted.isAbsent()) {
      wire.untilAnswered(() -> Wire.make(zk, clock, acl, CreateMode.PERSISTENT), deadline)
          .requireOk();
      noted = writeClockIfThere(zk, deadline);
    }
    return noted.get().getMtime();
  }

  private Answer<Stat> writeClockIfThere(ZooKeeper zk, Deadline deadline) throws StoreException {
    return wire.untilAnswered(() -> Wire.write(zk, clock, new byte[0], -1), deadline);
  }

  /**
   * Waits for the readings, and returns the marks that exist, including those whose time is over.
   */
  List<Mark> await(List<Wire.Reading> readings, Deadline deadline) throws StoreException {
    List<Mark> marks = new ArrayList<>(readings.size());
    for (Wire.Reading reading : readings) {
      Answer<Wire.Node> answer = wire.untilRead(reading, deadline);
      if (!answer.isAbsent()) {
        marks.add(new Mark(reading.path(), grantNumber(reading.path()), answer.get()));
      }
    }
    return marks;
  }

  private static long grantNumber(String path) throws StoreException {
    String name = path.substring(path.lastIndexOf('/') + 1);
    try {
      return Long.parseLong(name.substring(Names.MARK_PREFIX.length()), 16);
    } catch (NumberFormatException e) {
      throw StoreException.refused("There is a node that is not a lock's: " + name, e);
    }
  }

  /**
   * Returns how long the marks still keep those waiting whose turn has come; deletes them, and
   * returns zero, if the time of all is over.
   *
   * @param node one whose turn has come
   * @return that time; null if the node is gone, and the time of all marks is over
   */
  @Nullable
  Duration clearOrRest(ZooKeeper zk, OwnNode node, List<String> names, Deadline deadline)
      throws StoreException {
    if (names.isEmpty()) {
      return Duration.ZERO;
    }
    List<Wire.Reading> readings = read(zk, node.parent, names);
    long nowMillis = writeClock(zk, deadline);
    List<Mark> marks = await(readings, deadline);
    for (Mark mark : marks) {
      if (nowMillis < mark.node().stat().getMtime()) {
        countAnew(zk, mark, deadline);
      }
    }
    Mark last = last(marks, nowMillis);
    if (last != null) {
      return last.rest(nowMillis);
    }
    return delete(zk, node, marks, deadline) ? Duration.ZERO : null;
  }

  /** Deletes marks whose time is over, if our own node exists; false if it does not. */
  private boolean delete(ZooKeeper zk, OwnNode node, List<Mark> marks, Deadline deadline)
      throws StoreException {
    List<Op> ops = new ArrayList<>();
    ops.add(Op.check(node.path(), -1));
    marks.forEach(mark -> ops.add(Op.delete(mark.path(), -1)));
    while (true) {
      Answer<List<OpResult>> answer = wire.untilAnswered(() -> Wire.multi(zk, ops), deadline);
      if (!answer.isAbsent()) {
        answer.requireOk();
        return true;
      }
      int absent = Wire.firstFailed(answer);
      if (absent == 0) {
        return false;
      }
      // Gone for good, whether by an earlier request of ours, whose answer was lost, or by another.
      ops.remove(absent);
    }
  }

  /**
   * Rewrites a mark whose time is in the future, since the leader's clock was set back. It then
   * counts its whole time once more, from now, instead of until the clock has caught up.
   */
  private void countAnew(ZooKeeper zk, Mark mark, Deadline deadline) throws StoreException {
    Wire.Node node = mark.node();
    // A refusal does not matter: another client rewrote the mark, or an earlier request of ours
    // did.
    Answer<Stat> unused = wire.untilAnswered(
        () -> Wire.write(zk, mark.path(), node.data().bytes(), node.stat().getVersion()), deadline);
  }

  /** Returns the mark that keeps the name taken for the longest time, or null if none does. */
  static @Nullable Mark last(List<Mark> marks, long nowMillis) {
    return marks.stream()
        .filter(mark -> !mark.rest(nowMillis).isZero())
        .max(Comparator.comparing(mark -> mark.rest(nowMillis)))
        .orElse(null);
  }
}
