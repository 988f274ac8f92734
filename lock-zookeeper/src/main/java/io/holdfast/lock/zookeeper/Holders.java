package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Reads the holders of locks, for administration. The server first catches up with the leader, so
 * the result was true at some moment after the call began.
 *
 * <p>A holder's {@code since} is its node's {@code ctime}, by the leader's clock: the time at which
 * the attempt asked for the lock and joined the line. ZooKeeper does not record when a node became
 * the first.
 */
final class Holders {
  /**
   * The most locks to read at once: enough to hide the round trips, but few, since renewals wait
   * behind them on the same connection.
   */
  private static final int AT_ONCE_MAX = 64;

  private final Wire wire;
  private final Marks marks;
  private final String root;

  Holders(Wire wire, Marks marks, String root) {
    this.wire = wire;
    this.marks = marks;
    this.root = root;
  }

  Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Search search = new Search(wire.handle(), List.of(key), wire.deadline());
    search.findHeld(1);
    return search.held.stream().findFirst().map(StoredLock::holder);
  }

  /** Returns the readers whose turn has come; none while a mark keeps them waiting. */
  List<StoredHolder> readers(LockKey key) throws StoreException {
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    String parent = Names.path(root, key);
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    if (listed.isAbsent()) {
      return List.of();
    }
    Line line = Line.of(parent, listed.get());
    Place head = line.head();
    if (head == null || !head.shared() || isMarked(zk, parent, line, deadline)) {
      return List.of();
    }
    List<StoredHolder> readers = new ArrayList<>();
    for (Wire.Reading reading : readInside(zk, parent, line)) {
      Answer<Wire.Node> read = wire.untilRead(reading, deadline);
      // One that is absent has left meanwhile.
      if (!read.isAbsent()) {
        readers.add(holder(read.get()));
      }
    }
    return readers;
  }

  private boolean isMarked(ZooKeeper zk, String parent, Line line, Deadline deadline)
      throws StoreException {
    if (line.marks().isEmpty()) {
      return false;
    }
    List<Wire.Reading> readings = Marks.read(zk, parent, line);
    long nowMillis = marks.writeClock(zk, deadline);
    return !Marks.stillCounting(marks.await(readings, deadline), nowMillis).isEmpty();
  }

  /** Returns who has the permits of a semaphore, those that only a mark keeps included. */
  List<StoredPermit> permits(LockKey key) throws StoreException {
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    String parent = Names.path(root, key);
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    if (listed.isAbsent()) {
      return List.of();
    }
    Line line = Line.of(parent, listed.get());
    List<Place> inside = line.inside();
    List<Wire.Reading> readings = readInside(zk, parent, line);
    Map<Integer, StoredPermit> permits = new TreeMap<>();
    if (!line.marks().isEmpty()) {
      List<Wire.Reading> markReadings = Marks.read(zk, parent, line);
      long nowMillis = marks.writeClock(zk, deadline);
      for (Marks.Mark mark : Marks.stillCounting(marks.await(markReadings, deadline), nowMillis)) {
        int permit = mark.place().permit();
        permits.put(permit, new StoredPermit(permit, mark.holder(nowMillis)));
      }
    }
    for (int i = 0; i < inside.size(); i++) {
      int permit = inside.get(i).permit();
      Answer<Wire.Node> read = wire.untilRead(readings.get(i), deadline);
      // One that is absent has left meanwhile. A later one whose permit another has gives way.
      if (!read.isAbsent()) {
        permits.putIfAbsent(permit, new StoredPermit(permit, holder(read.get())));
      }
    }
    permits.remove(Names.NO_PERMIT); // of a later version
    return List.copyOf(permits.values());
  }

  /** Begins to read the nodes whose turn has come. */
  static List<Wire.Reading> readInside(ZooKeeper zk, String parent, Line line) {
    return line.inside().stream()
        .map(place -> Wire.beginRead(zk, parent + "/" + place.name()))
        .toList();
  }

  private static StoredHolder holder(Wire.Node node) {
    return new StoredHolder(
        node.number(), node.data().holder(), node.since(), node.data().duration(), false);
  }

  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    Search search = new Search(zk, keys(zk, kind, namePrefix, deadline), deadline);
    int names = search.open.size();
    try {
      search.findHeld(limit);
    } catch (StoreException e) {
      if (deadline.isOver() && names > AT_ONCE_MAX) {
        throw StoreException.unanswered(
            ("%s names begin with '%s', too many to be looked at within %s: ask for a longer"
                    + " prefix, or give the client a longer store timeout")
                .formatted(names, namePrefix, deadline.whole()),
            e);
      }
      throw e;
    }
    return search.held;
  }

  /** Returns the locks that have a node, held or not. */
  private List<LockKey> keys(ZooKeeper zk, LockKind kind, String namePrefix, Deadline deadline)
      throws StoreException {
    Answer<List<String>> listed = names(zk, deadline);
    if (listed.isAbsent()) {
      return List.of();
    }
    String nodePrefix = Names.prefix(kind, namePrefix);
    List<LockKey> keys = new ArrayList<>();
    for (String node : listed.get()) {
      LockKey key = node.startsWith(nodePrefix) ? Names.key(kind, node) : null;
      if (key != null) {
        keys.add(key);
      }
    }
    return keys;
  }

  private Answer<List<String>> names(ZooKeeper zk, Deadline deadline) throws StoreException {
    while (true) {
      CompletableFuture<Answer<Boolean>> sync = Wire.sync(zk, root);
      CompletableFuture<Answer<Stat>> counting = Wire.stat(zk, root);
      CompletableFuture<Answer<List<String>>> listing = Wire.listAfter(sync, zk, root);
      Answer<Stat> counted = wire.await(counting, deadline);
      Answer<List<String>> listed = wire.await(listing, deadline);
      if (!listed.isConnectionLost()) {
        return listed;
      }
      if (counted.isOk()) {
        // Not repeated: if the answer is too long, the ZooKeeper client itself drops the
        // connection.
        int bytesMax = zk.getClientConfig()
            .getInt(ZKConfig.JUTE_MAXBUFFER, ZKClientConfig.CLIENT_MAX_PACKET_LENGTH_DEFAULT);
        throw StoreException.unanswered(
            ("The connection was lost while the %s names under %s were listed. If that happens"
                    + " again, they are more than the %s bytes that one answer may have: start this"
                    + " process with a larger jute.maxbuffer")
                .formatted(counted.get().getNumChildren(), root, bytesMax),
            listed.failure());
      }
      wire.pauseBeforeRetry(listed, deadline);
    }
  }

  /** A search for held locks; {@code open} are those that are not read yet. */
  private final class Search {
    private final ZooKeeper zk;
    private final Deque<LockKey> open;
    private final Deadline deadline;
    private final List<StoredLock> held = new ArrayList<>();

    /** The last answer in this turn that was lost with the connection. */
    private @Nullable Answer<?> lost;

    Search(ZooKeeper zk, List<LockKey> keys, Deadline deadline) {
      this.zk = zk;
      this.open = new ArrayDeque<>(keys);
      this.deadline = deadline;
    }

    /** Reads on until all locks were read, or enough held ones were found. */
    void findHeld(int limit) throws StoreException {
      while (!open.isEmpty() && held.size() < limit) {
        CompletableFuture<Answer<Boolean>> sync = Wire.sync(zk, root);
        Map<LockKey, CompletableFuture<Answer<List<String>>>> lines = new LinkedHashMap<>();
        for (int i = 0; i < AT_ONCE_MAX && !open.isEmpty(); i++) {
          LockKey key = open.remove();
          lines.put(key, Wire.listAfter(sync, zk, Names.path(root, key)));
        }
        List<Taken> taken = new ArrayList<>();
        for (var one : lines.entrySet()) {
          LockKey key = one.getKey();
          Answer<List<String>> listed = wire.await(one.getValue(), deadline);
          if (listed.isConnectionLost()) {
            requeue(key, listed);
          } else if (!listed.isAbsent()) {
            read(key, Line.of(Names.path(root, key), listed.get()), taken);
          }
        }
        addHeld(taken, limit);
        Answer<?> last = lost;
        lost = null;
        if (last != null && held.size() < limit) {
          wire.pauseBeforeRetry(last, deadline); // once, however many were lost
        }
      }
    }

    private void requeue(LockKey key, Answer<?> answer) {
      open.add(key);
      lost = answer;
    }

    private void read(LockKey key, Line line, List<Taken> taken) {
      Place head = line.head();
      if (head != null || !line.marks().isEmpty()) {
        String parent = Names.path(root, key);
        taken.add(new Taken(
            key,
            line,
            head == null ? null : Wire.beginRead(zk, parent + "/" + head.name()),
            Marks.read(zk, parent, line)));
      }
    }

    private void addHeld(List<Taken> taken, int limit) throws StoreException {
      boolean marked = taken.stream().anyMatch(one -> !one.line().marks().isEmpty());
      long nowMillis = marked ? marks.writeClock(zk, deadline) : 0;
      for (Taken one : taken) {
        StoredHolder holder = held.size() < limit ? holder(one, nowMillis) : null;
        if (holder != null) {
          int inside = holder.released() ? 0 : one.line().inside().size();
          held.add(new StoredLock(
              one.key(), holder, OptionalInt.of(one.line().places().size() - inside)));
        }
      }
    }

    /**
     * Returns the first in the line, or the former holder whose minimum hold keeps the first
     * waiting; null if there is neither, or it is not known yet.
     */
    private @Nullable StoredHolder holder(Taken taken, long nowMillis) throws StoreException {
      List<Marks.Mark> counting =
          Marks.stillCounting(marks.await(taken.marks(), deadline), nowMillis);
      if (!counting.isEmpty()) {
        return counting.get(counting.size() - 1).holder(nowMillis);
      }
      if (taken.head() == null) {
        return null;
      }
      Answer<Wire.Node> head = wire.await(taken.head().node(), deadline);
      if (head.isConnectionLost()) {
        requeue(taken.key(), head);
        return null;
      }
      if (head.isAbsent()) {
        // The node has gone meanwhile, and another may be the first.
        open.add(taken.key());
        return null;
      }
      return Holders.holder(head.get());
    }
  }

  /** A lock that may be held, with the pending reads of its first node and its marks. */
  private record Taken(
      LockKey key, Line line, Wire.@Nullable Reading head, List<Wire.Reading> marks) {}
}
