package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The line of a lock, as one listing of its node shows it.
 *
 * @param places the places in the order of their turns
 * @param marks the names of nodes that keep the lock taken for a minimum hold
 */
record Line(List<Place> places, List<String> marks) {
  /** The end of a sequential node's name. Before it is what made the node, of whatever version. */
  private static final Pattern SEQUENCE = Pattern.compile("[-\\d]\\d{9}$");

  /** The name of a reader's node. */
  private static final Pattern READER = Pattern.compile("[0-9a-f]{32}s\\d{10}");

  /**
   * The greatest sequence number that is accepted. ZooKeeper counts to 2^31 - 1 and then repeats
   * itself or turns negative, so that a new attempt would come before the holder; this stops well
   * before that.
   */
  static final int SEQUENCE_MAX = Integer.MAX_VALUE - 1_000_000;

  /**
   * A node in the line. One of a later version has its place in the order, and blocks.
   *
   * @param shared whether it is a reader's
   */
  record Place(String name, int sequence, boolean shared) {}

  /**
   * Reads a listing.
   *
   * @throws StoreException the position of a node can't be determined: the order is not known, so
   *     nobody gets the lock
   */
  static Line of(String parent, List<String> children) throws StoreException {
    List<Place> places = new ArrayList<>(children.size());
    List<String> marks = new ArrayList<>(0);
    for (String child : children) {
      if (child.startsWith(Names.MARK_PREFIX)) {
        marks.add(child);
      } else {
        places.add(place(parent, child));
      }
    }
    places.sort(Comparator.comparingInt(Place::sequence));
    return new Line(places, marks);
  }

  private static Place place(String parent, String child) throws StoreException {
    Matcher sequence = SEQUENCE.matcher(child);
    if (!sequence.find()) {
      throw StoreException.refused(
          ("There is a node that is not a lock's: %s/%s. Delete it, or give the locks a path of"
                  + " their own")
              .formatted(parent, child),
          null);
    }
    long number = Long.parseLong(sequence.group());
    if (number >= 0 && number <= SEQUENCE_MAX) {
      return new Place(child, (int) number, READER.matcher(child).matches());
    }
    throw StoreException.refused(
        ("ZooKeeper's sequence numbers under %s are used up (%s). Delete that node when nobody uses"
                + " the lock; they then begin again")
            .formatted(parent, child),
        null);
  }

  /** Returns the number of places before that of this node; -1: it has none. */
  int indexOf(String name) {
    return places.stream().map(Place::name).toList().indexOf(name);
  }

  @Nullable
  Place head() {
    return places.isEmpty() ? null : places.get(0);
  }

  /**
   * Returns the place that one at this index waits for: the last before it that it can't share the
   * lock with; null: its turn has come, once no mark counts.
   *
   * @param shared whether the one at the index is a reader
   */
  @Nullable
  Place blocker(int index, boolean shared) {
    Objects.checkIndex(index, places.size() + 1); // A node that is not in line has no turn.
    for (int i = index - 1; i >= 0; i--) {
      Place before = places.get(i);
      if (!shared || !before.shared()) {
        return before;
      }
    }
    return null;
  }

  /**
   * Returns the places whose turn has come: they have the lock, or take it next, once no mark
   * counts. That is the first, and if it is a reader's, all up to the first writer's.
   */
  List<Place> inside() {
    int readers = 0;
    while (readers < places.size() && places.get(readers).shared()) {
      readers++;
    }
    return places.subList(0, Math.min(Math.max(1, readers), places.size()));
  }
}
