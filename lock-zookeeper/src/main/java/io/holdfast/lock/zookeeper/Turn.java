package io.holdfast.lock.zookeeper;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Whether the turn of a node in the line has come. */
sealed interface Turn {
  /**
   * It has come.
   *
   * @param permit the permit that it may have; {@link Names#NO_PERMIT} for a lock
   */
  record Now(int permit) implements Turn {}

  /** Others before it have to go first; this is the last of them. */
  record Behind(Place place) implements Turn {}

  /**
   * Nobody before it waits, but those inside, or marks, leave nothing for it.
   *
   * @param rest the time after which a mark is over; null if none matters
   */
  record Full(@Nullable Duration rest) implements Turn {}

  /** Its node is gone. */
  record Gone() implements Turn {}
}
