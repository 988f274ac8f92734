package io.holdfast.lock.model;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** Sees what all users see, at once, and knows what they don't: what the server does. */
final class Judge {
  private final World world;
  private final Server server;
  private final Map<String, Name> names = new HashMap<>();
  private final Map<String, List<Asking>> asking = new HashMap<>();
  private final List<Section> ended = new ArrayList<>();

  /** Nothing went wrong, or nothing goes wrong any more. */
  private boolean calm;

  /** A renewed lease may not be lost: all that goes wrong is a lost message now and then. */
  private boolean gentle;

  private static final class Name {
    private final List<Section> open = new ArrayList<>();
    private final List<Section> ofAll = new ArrayList<>();
    private final Set<Long> forced = new HashSet<>();
    private long lastToken;
    private long lastWriteToken;

    /** Closed without a loss; a force is not bound by their minimum holds. */
    private final List<Section> closed = new ArrayList<>();
  }

  Judge(World world, Server server) {
    this.world = world;
    this.server = server;
  }

  void calm(boolean on) {
    calm = on;
  }

  void gentle(boolean on) {
    gentle = on;
  }

  private Name name(String name) {
    return names.computeIfAbsent(name, n -> new Name());
  }

  // Told by users

  /** A call that wants a name, until it has an answer. */
  final class Asking {
    private final List<Asking> ofClient;
    private final long fromNanos = world.nanos();
    private final long sinceNanos;

    Asking(List<Asking> ofClient) {
      this.ofClient = ofClient;
      this.sinceNanos = ofClient.isEmpty() ? fromNanos : ofClient.get(0).fromNanos;
      ofClient.add(this);
    }

    void end() {
      boolean unused = ofClient.remove(this);
    }
  }

  /** A user wants a name. Threads of one client get one answer (L-6.1). */
  Asking asks(Machine machine, String name, boolean shared) {
    String who = machine + name + (shared ? ", to read" : "");
    return new Asking(asking.computeIfAbsent(who, n -> new ArrayList<>()));
  }

  /** Somebody is about to take a grant away by force. */
  void forces(String name, long number) {
    Name its = name(name);
    its.closed.clear();
    its.forced.add(number);
    for (Section section : its.open) {
      section.forced |= section.held().number() == number;
    }
  }

  void begins(Section section) {
    Seen.LEASE.count();
    if (section.held().token() % 1024 != 0) {
      Seen.HANDED_ON_LOCALLY.count();
    }
    if (section.isShared()) {
      Seen.READ.count();
    }
    Name its = name(section.name());
    section.forced = its.forced.contains(section.held().number());
    world.say(() -> section + " begins");
    boolean stands = section.seemsToStand();
    if (!stands && section.held().isConfirmed() && section.user().machine().isJustAnswered()) {
      throw new Broken(Rule.ARRIVES_STANDING, section + " does not stand");
    }
    if (!section.forced && stands) {
      // Of two readers it says nothing.
      long last = section.isShared() ? its.lastWriteToken : its.lastToken;
      if (section.held().token() <= last) {
        throw new Broken(Rule.TOKENS_RISE, section + " after token " + last);
      }
      its.lastToken = Math.max(its.lastToken, section.held().token());
      if (!section.isShared()) {
        its.lastWriteToken = its.lastToken;
      }
      minHold(its, section);
      for (Section other : its.open) {
        if (other.held().number() == section.held().number() && other.isShared()) {
          Seen.READ_OF_A_SHARED_GRANT.count();
        }
        other.overlapped |= !other.isShared() || !section.isShared();
      }
    }
    its.open.add(section);
    its.ofAll.add(section);
  }

  /** It does not begin too early. Of a release that did not arrive the store knows nothing. */
  private void minHold(Name its, Section section) {
    its.closed.removeIf(closed -> closed.minHoldUntilNanos() <= world.nanos());
    for (Section closed : its.closed) {
      long number = closed.held().number();
      if (number == section.held().number() || server.wasReleased(number)) {
        throw new Broken(
            Rule.MIN_HOLD, section + " begins before " + World.millis(closed.minHoldUntilNanos()));
      }
    }
  }

  /** From now on its user believes nothing. */
  void ends(Section section) {
    world.say(() -> section + " closes");
    name(section.name()).open.remove(section);
    section.endedAtNanos = world.nanos();
    ended.add(section);
  }

  void closedWell(Section section) {
    world.say(() -> section + " closed");
    if (section.overlapped && !section.forced) {
      throw new Broken(
          Rule.CLOSED_WAS_ALONE, section + " closed without a loss, and was not alone");
    }
    Name its = name(section.name());
    if (its.forced.isEmpty()) {
      its.closed.add(section);
    }
    if (section.lossesTold > 0) {
      throw new Broken(Rule.LOSS_TOLD_ONCE, section + " closed without a loss that was told");
    }
  }

  /** Its user asked whether it is held; before that it seemed to be, or not. */
  void looked(Section section, boolean before, boolean held) {
    if (held && !before && !section.seemsToStand()) {
      throw new Broken(Rule.LOOKS_AGREE, section + " was told that it is held");
    }
  }

  void lost(Section section) {
    Seen.LOST.count();
    world.say(() -> section + " was lost");
    if ((calm || gentle) && section.isRenewed() && !section.forced) {
      throw new Broken(Rule.NOT_LOST_FOR_NOTHING, section + " was lost");
    }
    section.lostBy = LeaseLoss.Reason.TAKEN;
  }

  void busy(User user, String name, boolean shared, Asking asking) {
    Seen.BUSY.count();
    world.say(() -> user + " is told that " + name + " is taken");
    // Who was robbed by force need not know yet, and then tells the others of its client so
    // (L-6.3).
    boolean here = !shared
        && name(name).ofAll.stream()
            .anyMatch(section -> section.user().machine() == user.machine()
                && section.endedAtNanos >= asking.sinceNanos);
    LockKey key = new LockKey(LockKind.MUTEX, name);
    if (!here && !server.wasTakenSince(key, shared, asking.sinceNanos)) {
      throw new Broken(
          Rule.BUSY_IF_TAKEN,
          user + " was told that " + name + " is taken, and it was not since "
              + World.millis(asking.sinceNanos));
    }
  }

  void failed(User user, Throwable failure) {
    Seen.FAILED.count();
    world.say(() -> user + ": " + failure);
    if (calm) {
      throw new Broken(Rule.DOCUMENTED, user + ": " + failure, failure);
    }
  }

  void lossTold(Section section) {
    section.lossesTold++;
    world.say(() -> section + " is told of its loss");
    if (section.lossesTold > 1) {
      throw new Broken(Rule.LOSS_TOLD_ONCE, section + " was told of its loss twice");
    }
  }

  /** A call took so long, by its machine's monotonic clock. */
  void took(Supplier<String> what, long nanos, long leastNanos, long mostNanos) {
    if (nanos < leastNanos || nanos > mostNanos) {
      throw new Broken(
          Rule.IN_TIME,
          what.get() + " took " + World.millis(nanos) + ", not " + World.millis(leastNanos) + " to "
              + World.millis(mostNanos));
    }
  }

  // All the time

  void look() {
    for (Name name : names.values()) {
      if (name.open.size() > 1) {
        look(name.open);
      }
    }
  }

  private static void look(List<Section> open) {
    Section standing = null;
    for (Section section : open) {
      boolean stands = section.seemsToStand();
      if (!stands && section.held().isConfirmed() && section.user().machine().isJustAnswered()) {
        throw new Broken(Rule.ARRIVES_STANDING, section + " does not stand");
      }
      if (!section.forced && stands) {
        boolean excludes = standing != null && !(standing.isShared() && section.isShared());
        if (excludes && standing.user() != section.user()) {
          throw new Broken(Rule.ONE_HOLDER, "Two hold: " + standing + ", and " + section);
        }
        standing = section;
      }
    }
  }

  // At the end

  void lossesWereTold() {
    for (Section section : ended) {
      boolean wasLost = section.lostBy != null;
      if (section.isLossListened
          && wasLost
          && section.lossesTold == 0
          && !section.user().machine().isDead()) {
        throw new Broken(Rule.LOSS_TOLD_ONCE, section + " was not told of its loss");
      }
    }
  }
}
