package io.holdfast.lock.internal.queue;

import io.holdfast.lock.internal.grant.ActiveGrant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The current holds of a queue, as a linked list: the holder of a mutex, or the readers. That of a
 * reader whose release is under way stays in the list until it is over, marked as given back. Books
 * no losses. Guarded by the queue's mutex.
 */
final class CurrentHolds {
  private final boolean isOfReaders;

  /** The holder of a mutex, or the latest of the readers. */
  private @Nullable Hold first;

  CurrentHolds(boolean isOfReaders) {
    this.isOfReaders = isOfReaders;
  }

  @Nullable
  Hold first() {
    return first;
  }

  /** Makes it the holder, in place of the one before; or one more of the readers. */
  void begin(Hold hold) {
    if (isOfReaders) {
      hold.nextCurrent = first;
    }
    first = hold;
  }

  /** Takes it off the list, if it is there. */
  void end(Hold hold) {
    Hold before = null;
    for (Hold current = first; current != null; before = current, current = current.nextCurrent) {
      if (current == hold) {
        if (before == null) {
          first = current.nextCurrent;
        } else {
          before.nextCurrent = current.nextCurrent;
        }
        return;
      }
    }
  }

  /** Whether it is in the list, given back or not. */
  boolean isListed(Hold hold) {
    Hold current = first;
    while (current != null && current != hold) {
      current = current.nextCurrent;
    }
    return current != null;
  }

  /** Whether it is in the list, and its release is not under way. */
  boolean has(Hold hold) {
    return isListed(hold) && !hold.givenBack;
  }

  /** Whether there is a holder that keeps all others out. */
  boolean isExclusive() {
    return first != null && !isOfReaders;
  }

  /** Returns the one that this thread owns. */
  @Nullable
  Hold ownedBy(Thread thread) {
    Hold current = first;
    while (current != null && !current.isOwnedBy(thread)) {
      current = current.nextCurrent;
    }
    return current;
  }

  /** Returns one whose release is not under way. */
  @Nullable
  Hold any() {
    Hold current = first;
    while (current != null && current.givenBack) {
      current = current.nextCurrent;
    }
    return current;
  }

  // By their grants

  /** Returns those of this grant whose release is not under way. */
  List<Hold> of(ActiveGrant grant) {
    List<Hold> found = new ArrayList<>(1);
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.isOf(grant)) {
        found.add(current);
      }
    }
    return found;
  }

  /** Whether one other than this has the same grant. */
  boolean isShared(Hold hold) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current != hold && current.isOf(hold.grant())) {
        return true;
      }
    }
    return false;
  }

  /** Whether somebody else has a lease of this hold's grant, who can close it. */
  boolean isKeptByOthers(Hold hold) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current != hold && current.isOf(hold.grant()) && !current.open.isEmpty()) {
        return true;
      }
    }
    return false;
  }

  /** Returns one of this grant that nobody has any more, and whose release has not begun. */
  @Nullable
  Hold abandoned(ActiveGrant grant) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.isOf(grant) && current.isAbandoned()) {
        return current;
      }
    }
    return null;
  }

  /** Returns a reader's of this grant that is to be released, and that no thread releases. */
  @Nullable
  Hold givenBack(ActiveGrant grant) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.grant() == grant && current.givenBack && !current.isBeingReleased()) {
        return current;
      }
    }
    return null;
  }

  /** Whether the release of a reader's is under way. */
  boolean isAnyGivenBack() {
    Hold current = first;
    while (current != null && !current.givenBack) {
      current = current.nextCurrent;
    }
    return current != null;
  }

  /** Returns the grant with this number. */
  @Nullable
  ActiveGrant numbered(long number) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.grant().grant().number() == number && !current.givenBack) {
        return current.grant();
      }
    }
    return null;
  }

  /** Returns the grant with this owner id. */
  @Nullable
  ActiveGrant withOwnerId(String ownerId) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.grant().grant().claim().ownerId().equals(ownerId) && !current.givenBack) {
        return current.grant();
      }
    }
    return null;
  }

  /** Whether one of this grant has a guard open. */
  boolean isGuarded(ActiveGrant grant) {
    for (Hold current = first; current != null; current = current.nextCurrent) {
      if (current.grant() == grant && current.openGuards > 0) {
        return true;
      }
    }
    return false;
  }

  /** Whether one has a guard open. */
  boolean isAnyGuarded() {
    Hold current = first;
    while (current != null && current.openGuards == 0) {
      current = current.nextCurrent;
    }
    return current != null;
  }
}
