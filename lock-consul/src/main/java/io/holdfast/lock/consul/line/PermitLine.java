package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.line.Line.Place;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Line} of a semaphore. Each permit is a line of its own, of those that {@linkplain Bid
 * ask} for it: the first has it. Who waits for any asks for none, so that nothing becomes its own
 * before it asks again.
 *
 * <p>What somebody else wrote stands in the line of every permit, since nobody knows which it was.
 */
public final class PermitLine {
  /** The judgement of the others here about the number of permits. */
  public enum Agreement {
    /** All that others say is the same number, if anything. */
    ALL,
    /** Some say another. */
    SOME,
    /** All say others. */
    NONE
  }

  private final Line line;

  /** Those that ask for each permit, in the order in which they did. */
  private final Map<Integer, List<Place>> rows = new TreeMap<>();

  private final List<Place> foreign = new ArrayList<>();

  public PermitLine(Line line) {
    this.line = line;
    for (Place place : line.places()) {
      Bid bid = place.mark().bid();
      if (bid == null) {
        foreign.add(place);
      } else if (bid.isForPermit()) {
        rows.computeIfAbsent(bid.permit(), unused -> new ArrayList<>()).add(place);
      }
    }
    if (!foreign.isEmpty()) {
      for (List<Place> row : rows.values()) {
        row.addAll(foreign);
        row.sort(Comparator.comparingLong(Place::from));
      }
    }
  }

  public Line line() {
    return line;
  }

  /** Whether a place has the permit that it asks for. */
  public boolean isHolder(Place place) {
    Bid bid = place.mark().bid();
    return bid != null && bid.isForPermit() && row(bid.permit()).get(0).equals(place);
  }

  private List<Place> row(int permit) {
    return rows.getOrDefault(permit, foreign);
  }

  /** The permits that nobody but this one asks for, of so many. */
  public List<Integer> free(int permits, @Nullable Place own) {
    List<Integer> free = new ArrayList<>();
    for (int permit = 0; permit < permits; permit++) {
      if (row(permit).stream().allMatch(place -> place.equals(own))) {
        free.add(permit);
      }
    }
    return free;
  }

  /** Whether somebody waits. */
  public boolean isAwaited() {
    return line.places().stream().anyMatch(this::isWaiting);
  }

  /** The places that are served before this one, in order. */
  public List<Place> waitingBefore(Place own) {
    return line.places().stream()
        .filter(this::isWaiting)
        .filter(place -> joined(place) < joined(own))
        .sorted(Comparator.comparingLong(PermitLine::joined))
        .toList();
  }

  /**
   * Whether a place waits: who asked for a permit that another has waits only if it did so before,
   * since it is about to ask for another, or to leave.
   */
  private boolean isWaiting(Place place) {
    Bid bid = place.mark().bid();
    return bid != null
        && place.hasSession()
        && !place.mark().released()
        && (!bid.isForPermit() || (bid.joined() > 0 && !isHolder(place)));
  }

  private static long joined(Place place) {
    Bid bid = place.mark().bid();
    return bid != null && bid.joined() > 0 ? bid.joined() : place.from();
  }

  /** Returns what the others say of this number of permits. */
  public Agreement agreement(int permits, @Nullable Place own) {
    Predicate<Bid> same = bid -> bid.permits() == permits;
    List<Bid> others = bidsBut(own);
    if (others.stream().allMatch(same)) {
      return Agreement.ALL;
    }
    return others.stream().anyMatch(same) ? Agreement.SOME : Agreement.NONE;
  }

  /** The number of permits that the first of the others says; zero: there is none. */
  public int permits(@Nullable Place own) {
    List<Bid> others = bidsBut(own);
    return others.isEmpty() ? 0 : others.get(0).permits();
  }

  private List<Bid> bidsBut(@Nullable Place own) {
    List<Bid> bids = new ArrayList<>();
    for (Place place : line.places()) {
      Bid bid = place.mark().bid();
      if (bid != null && !place.equals(own)) {
        bids.add(bid);
      }
    }
    return bids;
  }

  /** Returns those that ask for a permit, in the order of the permits, and of their asking. */
  public List<Place> asking() {
    return rows.values().stream().flatMap(List::stream).toList();
  }

  /** Returns those that have a permit, in the order of the permits. */
  public List<Place> holders() {
    return rows.values().stream()
        .map(row -> row.get(0))
        .filter(place -> place.mark().bid() != null)
        .toList();
  }

  /** As {@link Line#holder} does. */
  @Nullable
  public Place holder(long number) {
    return Line.withNumber(number, mayHaveOne());
  }

  /** As {@link Line#isDoubtful} does. */
  public boolean isDoubtful(long number) {
    return Line.isDoubtful(number, mayHaveOne());
  }

  private List<Place> mayHaveOne() {
    return rows.values().stream().flatMap(row -> Line.mayHaveIt(row).stream()).toList();
  }
}
