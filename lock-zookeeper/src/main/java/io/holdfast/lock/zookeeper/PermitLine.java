package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore as one listing of its node shows it: bids for single permits, of which the first for
 * each permit has it; claims that wait for any permit; and the marks of minimum holds.
 */
final class PermitLine {
  private static final Pattern NODE =
      Pattern.compile("([0-9a-f]{32})-(?:w|p([0-9]{1,4})\\.[0-9]+)-(-?[0-9]{10,})");

  private static final Pattern MARK =
      Pattern.compile(Names.MARK_PREFIX + "[0-9a-f]{16}-([0-9]{1,4})");

  private static final int NO_PERMIT = -1;

  /** A claim's node. */
  record Node(String name, String owner, int permit, int sequence) {}

  private final int permits;
  private final Map<String, Node> nodes;
  private final Map<Integer, Node> firstBids = new TreeMap<>();
  private final Map<Integer, List<String>> marks = new TreeMap<>();
  private final List<Node> waiting = new ArrayList<>();

  private PermitLine(int permits, Map<String, Node> nodes) {
    this.permits = permits;
    this.nodes = nodes;
  }

  /**
   * Reads a listing.
   *
   * @throws StoreException a node is not one of ours, so nobody gets a permit
   */
  static PermitLine of(String parent, int permits, List<String> children) throws StoreException {
    PermitLine line = new PermitLine(permits, new java.util.HashMap<>());
    for (String child : children) {
      if (child.startsWith(Names.MARK_PREFIX)) {
        line.marks
            .computeIfAbsent(line.permitOfMark(parent, child), permit -> new ArrayList<>())
            .add(child);
      } else {
        Node node = line.node(parent, child);
        line.nodes.put(child, node);
        if (node.permit() != NO_PERMIT) {
          Node unused = line.firstBids.merge(
              node.permit(), node, (a, b) -> a.sequence() < b.sequence() ? a : b);
        }
      }
    }
    line.findWaiting();
    return line;
  }

  private Node node(String parent, String child) throws StoreException {
    Matcher matcher = NODE.matcher(child);
    if (!matcher.matches()) {
      throw Line.foreign(parent, child);
    }
    int sequence = Line.sequence(parent, child, matcher.group(3));
    int permit = matcher.group(2) == null ? NO_PERMIT : permit(parent, child, matcher.group(2));
    return new Node(child, matcher.group(1), permit, sequence);
  }

  private int permitOfMark(String parent, String mark) throws StoreException {
    Matcher matcher = MARK.matcher(mark);
    if (!matcher.matches()) {
      throw Line.foreign(parent, mark);
    }
    return permit(parent, mark, matcher.group(1));
  }

  private int permit(String parent, String child, String digits) throws StoreException {
    int permit = NO_PERMIT;
    try {
      permit = Integer.parseInt(digits);
    } catch (NumberFormatException e) {
      // Refused below.
    }
    if (permit < 0 || permit >= permits) {
      throw Line.foreign(parent, child);
    }
    return permit;
  }

  /**
   * Finds who waits. Who has the first bid for a permit that nothing else keeps has that permit,
   * and leaves its place next.
   */
  private void findWaiting() {
    Set<String> served = new HashSet<>();
    firstBids.forEach((permit, bid) -> {
      if (!marks.containsKey(permit)) {
        served.add(bid.owner());
      }
    });
    for (Node node : nodes.values()) {
      if (node.permit() == NO_PERMIT && !served.contains(node.owner())) {
        waiting.add(node);
      }
    }
    waiting.sort(Comparator.comparingInt(Node::sequence));
  }

  /** Whether no claim has a node; marks may be there. */
  boolean isEmpty() {
    return nodes.isEmpty();
  }

  boolean contains(OwnNode node) {
    return nodes.containsKey(node.name());
  }

  /** Whether this bid, which is there, is the first for its permit. */
  boolean isFirst(OwnNode bid) {
    Node first = firstBids.get(bid.permit());
    return first != null && first.name().equals(bid.name());
  }

  /** Returns the first bid for each permit for which there is one, in the order of the permits. */
  List<Node> firstBids() {
    return List.copyOf(firstBids.values());
  }

  /**
   * Returns the last that waits before this node, or null if nobody does. Before a node that is not
   * there are all.
   */
  @Nullable
  Node waitingBefore(@Nullable OwnNode node) {
    Node own = node == null ? null : nodes.get(node.name());
    Node before = null;
    for (Node one : waiting) {
      if (own == null || one.sequence() < own.sequence()) {
        before = one;
      }
    }
    return before;
  }

  boolean isAnybodyWaiting() {
    return !waiting.isEmpty();
  }

  /** Returns the names of all marks. */
  List<String> marks() {
    return marks.values().stream().flatMap(List::stream).toList();
  }

  List<String> marks(int permit) {
    return marks.getOrDefault(permit, List.of());
  }

  /** Returns the names of the marks on permits that nobody bids for, or only this node. */
  List<String> marksToWaitFor(@Nullable OwnNode bid) {
    List<String> names = new ArrayList<>();
    marks.forEach((permit, ofPermit) -> {
      Node first = firstBids.get(permit);
      if (first == null || (bid != null && first.name().equals(bid.name()))) {
        names.addAll(ofPermit);
      }
    });
    return names;
  }

  static int permitOfMark(String mark) {
    return Integer.parseInt(mark.substring(mark.lastIndexOf('-') + 1));
  }

  /**
   * Returns a permit that nobody bids for and no mark keeps: the preferred one if it is, else any
   * at random, so that those who look at the same time seldom choose the same.
   */
  OptionalInt free(int preferred) {
    List<Integer> free = new ArrayList<>();
    for (int permit = 0; permit < permits; permit++) {
      if (!firstBids.containsKey(permit) && !marks.containsKey(permit)) {
        free.add(permit);
      }
    }
    if (free.isEmpty()) {
      return OptionalInt.empty();
    }
    return OptionalInt.of(
        free.contains(preferred)
            ? preferred
            : free.get(ThreadLocalRandom.current().nextInt(free.size())));
  }
}
