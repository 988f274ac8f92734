package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
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
 * the attempt asked for the lock and joined its queue. ZooKeeper does not record when a node became
 * the first.
 */
final class Holders {
  private final Wire wire;
  private final Marks marks;
  private final String root;

  Holders(Wire wire, Marks marks, String root) {
    this.wire = wire;
    this.marks = marks;
    this.root = root;
  }

  Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Look look = new Look(wire.handle(), List.of(key), wire.deadline());
    look.findHeld(1);
    return look.held.stream().findFirst().map(StoredLock::holder);
  }

  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    Look look = new Look(zk, keys(zk, kind, namePrefix, deadline), deadline);
    int names = look.open.size();
    try {
      look.findHeld(limit);
    } catch (StoreException e) {
      if (deadline.isOver()) {
        throw StoreException.unanswered(
            names
                + " names begin with '"
                + namePrefix
                + "', too many to be looked at within "
                + deadline.whole()
                + ": ask for a longer prefix, or give the client a longer store timeout",
            e);
      }
      throw e;
    }
    return look.held;
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
        throw StoreException.unanswered(
            "The connection was lost while the "
                + counted.get().getNumChildren()
                + " names under "
                + root
                + " were listed. If that happens again, they are more than the "
                + answerBytesMax(zk)
                + " bytes that one answer may have: start this process with a larger"
                + " jute.maxbuffer",
            listed.failure());
      }
      wire.pauseBeforeRetry(listed, deadline);
    }
  }

  private static int answerBytesMax(ZooKeeper zk) {
    ZKClientConfig config = zk.getClientConfig();
    return config.getInt(ZKConfig.JUTE_MAXBUFFER, ZKClientConfig.CLIENT_MAX_PACKET_LENGTH_DEFAULT);
  }

  private String parent(LockKey key) {
    return root + "/" + Names.of(key);
  }

  /** One reading of some locks. */
  private final class Look {
    private final ZooKeeper zk;
    private final Deque<LockKey> open;
    private final Deadline deadline;
    private final List<StoredLock> held = new ArrayList<>();

    /** The last answer in this turn that was lost with the connection. */
    private @Nullable Answer<?> lost;

    Look(ZooKeeper zk, List<LockKey> keys, Deadline deadline) {
      this.zk = zk;
      this.open = new ArrayDeque<>(keys);
      this.deadline = deadline;
    }

    /** Reads on until all locks were read, or enough held ones were found. */
    void findHeld(int limit) throws StoreException {
      while (!open.isEmpty() && held.size() < limit) {
        CompletableFuture<Answer<Boolean>> sync = Wire.sync(zk, root);
        List<Lines> lines = new ArrayList<>();
        for (int i = 0; i < Wire.READS_AT_ONCE_MAX && !open.isEmpty(); i++) {
          LockKey key = open.remove();
          lines.add(new Lines(key, Wire.listAfter(sync, zk, parent(key))));
        }
        List<Taken> taken = new ArrayList<>();
        for (Lines one : lines) {
          Answer<List<String>> listed = wire.await(one.listing(), deadline);
          if (listed.isConnectionLost()) {
            askAnew(one.key(), listed);
          } else if (!listed.isAbsent()) {
            read(one.key(), Line.of(parent(one.key()), listed.get()), taken);
          }
        }
        tell(taken, limit);
        pauseIfLost();
      }
    }

    private void askAnew(LockKey key, Answer<?> answer) {
      open.add(key);
      lost = answer;
    }

    /** Once for a turn, however many of its answers were lost. */
    private void pauseIfLost() throws StoreException {
      Answer<?> last = lost;
      lost = null;
      if (last != null) {
        wire.pauseBeforeRetry(last, deadline);
      }
    }

    private void read(LockKey key, Line line, List<Taken> taken) {
      Line.Place head = line.head();
      if (head != null || !line.marks().isEmpty()) {
        String parent = parent(key);
        taken.add(new Taken(
            key,
            line,
            head == null ? null : Wire.read(zk, parent + "/" + head.name(), null),
            Marks.read(zk, parent, line.marks())));
      }
    }

    private void tell(List<Taken> taken, int limit) throws StoreException {
      boolean marked = taken.stream().anyMatch(one -> !one.line().marks().isEmpty());
      long nowMillis = marked ? marks.nowMillis(zk, deadline) : 0;
      for (Taken one : taken) {
        StoredLock lock = held(one, nowMillis);
        if (lock != null && held.size() < limit) {
          held.add(lock);
        }
      }
    }

    /** Returns the lock with its first holder; null if it has none, or that is not known yet. */
    private @Nullable StoredLock held(Taken taken, long nowMillis) throws StoreException {
      List<Marks.Mark> found = marks.await(taken.marks(), nowMillis, deadline);
      Marks.Mark writersMark = Marks.lastWriters(found);
      if (writersMark != null) {
        return lock(taken, writersMark.storedHolder(), 0);
      }
      List<Marks.Mark> readersMarks = Marks.readers(found);
      int readers = taken.line().readersAtHead().size();
      if (readers == 0 && !readersMarks.isEmpty()) {
        return lock(taken, readersMarks.get(0).storedHolder(), 0);
      }
      StoredHolder head = head(taken);
      if (head == null) {
        return null;
      }
      // Of readers, the one with the lowest number, in whatever way it holds.
      StoredHolder first =
          readersMarks.isEmpty() || head.number() < readersMarks.get(0).number()
              ? head
              : readersMarks.get(0).storedHolder();
      return lock(taken, first, Math.max(1, readers));
    }

    private static StoredLock lock(Taken taken, StoredHolder holder, int holding) {
      int places = taken.line().places().size();
      return new StoredLock(taken.key(), holder, OptionalInt.of(places - holding));
    }

    /** Returns the first in the line, or null if there is none, or that is not known yet. */
    private @Nullable StoredHolder head(Taken taken) throws StoreException {
      if (taken.head() == null) {
        return null;
      }
      Answer<Wire.Text> head = wire.await(taken.head(), deadline);
      if (head.isConnectionLost()) {
        askAnew(taken.key(), head);
        return null;
      }
      if (head.isAbsent()) {
        // The node has gone meanwhile, and another may be the first.
        open.add(taken.key());
        return null;
      }
      return head.get().storedHolder();
    }
  }

  // Of one lock

  /** Returns the writer that has the lock, or all readers that have it, by number. */
  List<StoredHolder> all(LockKey key) throws StoreException {
    Deadline deadline = wire.deadline();
    while (true) {
      ZooKeeper zk = wire.handle();
      Line line = line(zk, key, deadline);
      List<Marks.Reading> reading = Marks.read(zk, parent(key), line.marks());
      long nowMillis = reading.isEmpty() ? 0 : marks.nowMillis(zk, deadline);
      List<Marks.Mark> found = marks.await(reading, nowMillis, deadline);
      Marks.Mark writersMark = Marks.lastWriters(found);
      if (writersMark != null) {
        return List.of(writersMark.storedHolder());
      }
      List<StoredHolder> holders = new ArrayList<>();
      Marks.readers(found).forEach(mark -> holders.add(mark.storedHolder()));
      List<Line.Place> first = holders.isEmpty() ? line.holding() : line.readersAtHead();
      for (Wire.Found held : read(zk, parent(key), first, deadline)) {
        holders.add(held.text().storedHolder());
      }
      // If all have gone meanwhile, others may be the first.
      if (!holders.isEmpty() || first.isEmpty()) {
        holders.sort(Comparator.comparingLong(StoredHolder::number));
        return holders;
      }
    }
  }

  /** Lists a lock's line, as the leader knows it; empty if it has no node. */
  private Line line(ZooKeeper zk, LockKey key, Deadline deadline) throws StoreException {
    String parent = parent(key);
    Answer<List<String>> listed = wire.askAgain(() -> Wire.listNewest(zk, parent), deadline);
    return Line.of(parent, listed.isAbsent() ? List.of() : listed.get());
  }

  /** Reads the places that still exist. */
  private List<Wire.Found> read(
      ZooKeeper zk, String parent, List<Line.Place> places, Deadline deadline)
      throws StoreException {
    List<String> paths =
        places.stream().map(place -> parent + "/" + place.name()).toList();
    return wire.readAll(zk, paths, deadline);
  }

  /** Frees a lock if the grant with this number has it, a writer's or a reader's. */
  boolean forceRelease(LockKey key, long number) throws StoreException {
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    String parent = parent(key);
    Line line = line(zk, key, deadline);
    for (String name : line.marks()) {
      if (Names.numberOfMark(name) == number) {
        return wire.deleted(zk, parent + "/" + name, deadline);
      }
    }
    if (!line.writersMarks().isEmpty()) {
      return false;
    }
    List<Line.Place> first = line.marks().isEmpty() ? line.holding() : line.readersAtHead();
    for (Wire.Found held : read(zk, parent, first, deadline)) {
      if (held.text().stat().getCzxid() == number) {
        return wire.deleted(zk, held.path(), deadline);
      }
    }
    return false;
  }

  /** A lock whose queue is being listed. */
  private record Lines(LockKey key, CompletableFuture<Answer<List<String>>> listing) {}

  /** A lock that may be held, with the pending reads of its first node and its marks. */
  private record Taken(
      LockKey key,
      Line line,
      @Nullable CompletableFuture<Answer<Wire.Text>> head,
      List<Marks.Reading> marks) {}
}
