package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.redis.server.Reply;
import io.holdfast.lock.spi.StoredHolder;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Predicate;

/** A lock, as the majority of a quorum's servers show it. */
sealed interface Shown {
  /** A majority shows the same grant. */
  record Taken(StoredHolder holder) implements Shown {}

  /** No majority has it. */
  record Free() implements Shown {}

  /**
   * The lock is just being granted or released, or a server that does not answer may know of a
   * holder.
   */
  record Unclear() implements Shown {}

  /** Evaluates the answers of at least a majority. */
  static Shown by(Votes<Optional<Reply.Held>> votes) {
    boolean mayBeTaken = false;
    for (Optional<Reply.Held> answer : votes.answers) {
      Reply.Held held = answer.orElse(null);
      if (held == null) {
        continue;
      }
      Predicate<Optional<Reply.Held>> same =
          other -> other.isPresent() && isSame(other.get(), held);
      if (votes.isMajority(same)) {
        StoredHolder holder = held.holder();
        Duration left = votes.lasting(
            other -> same.test(other) ? other.get().holder().remaining() : Duration.ZERO);
        return new Taken(new StoredHolder(
            holder.number(), holder.description(), holder.since(), left, holder.released()));
      }
      mayBeTaken |=
          !votes.isExcluded(other -> other.isPresent() && other.get().owner().equals(held.owner()));
    }
    return mayBeTaken ? new Unclear() : new Free();
  }

  private static boolean isSame(Reply.Held one, Reply.Held other) {
    return one.owner().equals(other.owner())
        && one.holder().number() == other.holder().number()
        && one.holder().released() == other.holder().released();
  }
}
