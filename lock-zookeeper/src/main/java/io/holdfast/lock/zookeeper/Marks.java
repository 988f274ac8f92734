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
  record Reading(String path, CompletableFuture<Answer<Wire.Text>> text) {
    String name() {
      return path.substring(path.lastIndexOf('/') + 1);
    }
  }

  /** Asks for marks. */
  static List<Reading> read(ZooKeeper zk, String parent, List<String> names) {
    return names.stream()
        .map(name -> parent + "/" + name)
        .map(path -> new Reading(path, Wire.read(zk, path, null)))
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
    List<Mark> marks = new ArrayList<>(readings.size());
    for (Reading reading : readings) {
      Answer<Wire.Text> answer = wire.await(reading.text(), deadline);
      if (!answer.isAbsent()) {
        marks.add(mark(reading, answer.get(), nowMillis));
      }
    }
    return marks;
  }

  private static Mark mark(Reading reading, Wire.Text text, long nowMillis) throws StoreException {
    long ageMillis = Math.max(0, nowMillis - text.stat().getMtime());
    Duration rest = text.text().duration().minusMillis(ageMillis);
    return new Mark(
        reading.path(),
        number(reading.name()),
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
   * Returns the time that the first in the queue must still wait; zero if it need not wait, and the
   * marks are gone.
   */
  Duration settle(ZooKeeper zk, OwnNode node, List<String> names, Deadline deadline)
      throws StoreException {
    if (names.isEmpty()) {
      return Duration.ZERO;
    }
    List<Reading> readings = read(zk, node.parent(), names);
    long nowMillis = nowMillis(zk, deadline);
    for (Reading reading : readings) {
      countAnew(zk, reading, nowMillis, deadline);
    }
    List<Mark> marks = await(readings, nowMillis, deadline);
    Duration rest = rest(marks);
    if (!rest.isZero()) {
      return rest;
    }
    List<Op> ops = new ArrayList<>();
    ops.add(Op.check(node.path(), -1));
    marks.forEach(mark -> ops.add(Op.delete(mark.path(), -1)));
    Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), deadline);
    if (answer.isAbsent()) {
      // A mark has gone, or our own node: the next look will show.
      return Duration.ofMillis(10);
    }
    answer.requireOk();
    return Duration.ZERO;
  }

  /**
   * Rewrites a mark whose time is in the future, since the leader's clock was set back. Counted
   * from now, it blocks no longer than intended.
   */
  private void countAnew(ZooKeeper zk, Reading reading, long nowMillis, Deadline deadline)
      throws StoreException {
    Answer<Wire.Text> answer = wire.await(reading.text(), deadline);
    if (answer.isOk() && nowMillis < answer.get().stat().getMtime()) {
      Wire.Text text = answer.get();
      Answer<Stat> unused = wire.await(
          Wire.write(zk, reading.path(), text.text().bytes(), text.stat().getVersion()), deadline);
    }
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
