package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Marks keep a name taken for the rest of a minimum hold. How old one is, is told by the leader's
 * clock alone: when the mark was written, and when the locks' root was written just now.
 */
final class Marks {
  private final Wire wire;
  private final String root;

  Marks(Wire wire, String root) {
    this.wire = wire;
    this.root = root;
  }

  /** A mark that is there. */
  record Mark(String path, long number, String holder, Duration rest) {}

  /** Reads marks, those whose time is over too. */
  List<Mark> read(ZooKeeper zk, String parent, List<String> names, long untilNanos)
      throws StoreException {
    CompletableFuture<Answer<Stat>> nowWritten = Wire.write(zk, root, new byte[0], -1);
    List<CompletableFuture<Answer<Wire.Text>>> texts =
        names.stream().map(name -> Wire.read(zk, parent + "/" + name, null)).toList();
    long nowMillis = wire.await(nowWritten, untilNanos).get().getMtime();
    List<Mark> marks = new ArrayList<>(names.size());
    for (int i = 0; i < names.size(); i++) {
      Answer<Wire.Text> answer = wire.await(texts.get(i), untilNanos);
      if (!answer.isAbsent()) {
        marks.add(mark(zk, parent, names.get(i), answer.get(), nowMillis, untilNanos));
      }
    }
    return marks;
  }

  private Mark mark(
      ZooKeeper zk, String parent, String name, Wire.Text text, long nowMillis, long untilNanos)
      throws StoreException {
    String path = parent + "/" + name;
    long ageMillis = nowMillis - text.stat().getMtime();
    if (ageMillis < 0) {
      // The leader's clock was set back. Counted from now, it blocks no longer than it was meant
      // to.
      Answer<Stat> unused = wire.await(
          Wire.write(zk, path, text.text().bytes(), text.stat().getVersion()), untilNanos);
    }
    NodeText read = text.text();
    Duration rest = read.duration().minusMillis(Math.max(0, ageMillis));
    return new Mark(path, number(name), read.holder(), rest.isNegative() ? Duration.ZERO : rest);
  }

  private static long number(String name) throws StoreException {
    try {
      return Long.parseLong(name.substring(Names.MARK_PREFIX.length()), 16);
    } catch (NumberFormatException e) {
      throw StoreException.refused("There is a node that is not a lock's: " + name, e);
    }
  }

  /**
   * For the first in line: how long it has yet to wait. Zero: it need not, and the marks are gone.
   */
  Duration settle(ZooKeeper zk, OwnNode node, List<String> names, long untilNanos)
      throws StoreException {
    if (names.isEmpty()) {
      return Duration.ZERO;
    }
    List<Mark> marks = read(zk, node.parent(), names, untilNanos);
    Duration rest = rest(marks);
    if (!rest.isZero()) {
      return rest;
    }
    List<Op> ops = new ArrayList<>();
    ops.add(Op.check(node.path(), -1));
    marks.forEach(mark -> ops.add(Op.delete(mark.path(), -1)));
    Answer<List<OpResult>> answer = wire.await(Wire.multi(zk, ops), untilNanos);
    if (answer.isAbsent()) {
      // A mark went by itself, or our own node did: the next look tells.
      return Duration.ofMillis(10);
    }
    answer.requireOk();
    return Duration.ZERO;
  }

  static Duration rest(List<Mark> marks) {
    return marks.stream().map(Mark::rest).max(Duration::compareTo).orElse(Duration.ZERO);
  }

  /** The mark that keeps the name taken for the longest; null: none does. */
  static @Nullable Mark last(List<Mark> marks) {
    return marks.stream()
        .filter(mark -> !mark.rest().isZero())
        .max((a, b) -> a.rest().compareTo(b.rest()))
        .orElse(null);
  }
}
