package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
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
  record Mark(Place place, String path, long number, Wire.Node node) {
    /** Returns the former holder, whose minimum hold the mark keeps. */
    StoredHolder holder(long nowMillis) {
      return new StoredHolder(number, node.data().holder(), node.since(), rest(nowMillis), true);
    }

    /** Returns the time for which it still counts; zero if its time is over. */
    Duration rest(long nowMillis) {
      long ageMillis = Math.max(0, nowMillis - node.stat().getMtime());
      Duration rest = node.data().duration().minusMillis(ageMillis);
      return rest.isNegative() ? Duration.ZERO : rest;
    }
  }

  /** Begins to read marks. */
  static List<Wire.Reading> read(ZooKeeper zk, String parent, Line line) {
    return line.marks().stream()
        .map(mark -> Wire.beginRead(zk, parent + "/" + mark.name()))
        .toList();
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
        String path = reading.path();
        String name = path.substring(path.lastIndexOf('/') + 1);
        marks.add(new Mark(Place.named(name, 0), path, number(name), answer.get()));
      }
    }
    return marks;
  }

  private static long number(String name) throws StoreException {
    try {
      return Names.numberOfMark(name);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw StoreException.refused("There is a node that is not a lock's: " + name, e);
    }
  }

  /**
   * Returns whether the turn of a node has come. If only marks keep it waiting, those whose time is
   * over are deleted first.
   *
   * @throws PermitsDifferException those before it, or a mark, have another number of permits
   */
  Turn turn(ZooKeeper zk, OwnNode node, Line line, Deadline deadline) throws StoreException {
    Turn besideAll = line.turn(node);
    if (!line.isKeptByMarks(node)) {
      return besideAll;
    }
    List<Wire.Reading> readings = read(zk, node.parent, line);
    long nowMillis = writeClock(zk, deadline);
    List<Mark> marks = await(readings, deadline);
    for (Mark mark : marks) {
      if (nowMillis < mark.node().stat().getMtime()) {
        countAnew(zk, mark, deadline);
      }
    }
    List<Mark> counting = stillCounting(marks, nowMillis);
    List<Mark> over = marks.stream().filter(mark -> !counting.contains(mark)).toList();
    if (!over.isEmpty() && !delete(zk, node, over, deadline)) {
      return new Turn.Gone();
    }
    Turn beside = line.withMarks(counting.stream().map(Mark::place).toList()).turn(node);
    if (beside instanceof Turn.Now) {
      return beside;
    }
    for (Mark mark : counting) {
      mark.place().requireEqualPermits(node.claim);
    }
    return new Turn.Full(counting.get(0).rest(nowMillis));
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

  /** Returns the marks whose time is not over, the one that ends first before the others. */
  static List<Mark> stillCounting(List<Mark> marks, long nowMillis) {
    return marks.stream()
        .filter(mark -> !mark.rest(nowMillis).isZero())
        .sorted(Comparator.comparing(mark -> mark.rest(nowMillis)))
        .toList();
  }
}
