package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The line of a lock or a semaphore, as one listing of its node shows it.
 *
 * <p>A claim to a permit has its node's sequence number for its place, too. Those before it are
 * final: they go, and one that waits gets a permit, but none joins, and none gives a permit up for
 * another. Who enters has seen that nobody before it waits, that they are fewer than the permits,
 * and that none of them has its permit. So there are never more inside than permits, and none has
 * the permit of another; and a permit's grants are in the order of joining.
 *
 * @param places the places in the order of their turns
 * @param marks the nodes that keep the lock or a permit taken for a minimum hold
 */
record Line(List<Place> places, List<Place> marks) {
  /** The end of a sequential node's name. Before it is what made the node, of whatever version. */
  private static final Pattern SEQUENCE = Pattern.compile("[-\\d]\\d{9}$");

  /**
   * The greatest sequence number that is accepted. ZooKeeper counts to 2^31 - 1 and then repeats
   * itself or turns negative, so that a new attempt would come before the holder; this stops well
   * before that.
   */
  static final int SEQUENCE_MAX = Integer.MAX_VALUE - 1_000_000;

  /**
   * Reads a listing.
   *
   * @throws StoreException the position of a node can't be determined: the order is not known, so
   *     nobody gets the lock
   */
  static Line of(String parent, List<String> children) throws StoreException {
    List<Place> places = new ArrayList<>(children.size());
    List<Place> marks = new ArrayList<>(0);
    for (String child : children) {
      if (child.startsWith(Names.MARK_PREFIX)) {
        marks.add(Place.named(child, 0));
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
      return Place.named(child, (int) number);
    }
    throw StoreException.refused(
        ("ZooKeeper's sequence numbers under %s are used up (%s). Delete that node when nobody uses"
                + " the lock; they then begin again")
            .formatted(parent, child),
        null);
  }

  /** Returns the sequence number at the end of a node's name. */
  static String sequence(String name) {
    return name.substring(name.length() - 10);
  }

  /** Returns the number of places before that of this node; -1: it has none. */
  int indexOf(String name) {
    return places.stream().map(Place::name).toList().indexOf(name);
  }

  @Nullable
  Place head() {
    return places.isEmpty() ? null : places.get(0);
  }

  /** Returns the same line, with these marks only. */
  Line withMarks(List<Place> others) {
    return new Line(places, others);
  }

  /** Does {@link #turn(int, Claim, int)} for a node in the line. */
  Turn turn(OwnNode node) throws PermitsDifferException {
    return turn(indexOf(node.name()), node.claim, node.permit());
  }

  /** Whether nothing but marks, if they count, keeps a node waiting. */
  boolean isKeptByMarks(OwnNode node) throws PermitsDifferException {
    return !marks.isEmpty()
        && turn(node) instanceof Turn.Full
        && withMarks(List.of()).turn(node) instanceof Turn.Now;
  }

  /**
   * Returns whether the turn of one at this index has come, if all marks count.
   *
   * @param permit the permit in its name, or {@link Names#NO_PERMIT}
   * @return {@link Turn.Now} with that permit if it is free, else with the next that is
   * @throws PermitsDifferException the first in line knows another number of permits
   */
  Turn turn(int index, Claim claim, int permit) throws PermitsDifferException {
    Objects.checkIndex(index, places.size() + 1); // A node that is not in line has no turn.
    List<Place> before = places.subList(0, index);
    if (index > 0) {
      before.get(0).requireEqualPermits(claim);
    }
    for (int i = index - 1; i >= 0; i--) {
      if (!before.get(i).letsIn(claim.mode())) {
        return new Turn.Behind(before.get(i));
      }
    }
    if (claim.mode() instanceof Claim.Permit permits) {
      return turn(before, permits, permit);
    }
    return marks.isEmpty() ? new Turn.Now(Names.NO_PERMIT) : new Turn.Full(null);
  }

  private Turn turn(List<Place> before, Claim.Permit permits, int permit) {
    if (before.size() + marks.size() >= permits.of()
        || !marks.stream().allMatch(mark -> mark.letsIn(permits))) {
      return new Turn.Full(null);
    }
    BitSet taken = new BitSet(permits.of());
    before.forEach(place -> taken.set(place.permit()));
    marks.forEach(mark -> taken.set(mark.permit()));
    int free = taken.nextClearBit(Math.max(0, permit));
    return new Turn.Now(free < permits.of() ? free : taken.nextClearBit(0));
  }

  /**
   * Returns the places whose turn has come, once no mark keeps it from them. Of a lock, that is the
   * first, which has it or takes it next, and if it is a reader's, all up to the first writer's; of
   * a semaphore, all with a permit up to the first that waits.
   */
  List<Place> inside() {
    Place head = head();
    if (head == null) {
      return List.of();
    }
    Claim.Mode mode = head.of() > 0 ? new Claim.Permit(head.of()) : Claim.SHARED;
    List<Place> inside = places.stream().takeWhile(place -> place.letsIn(mode)).toList();
    return inside.isEmpty() && head.of() == 0 ? List.of(head) : inside;
  }
}
