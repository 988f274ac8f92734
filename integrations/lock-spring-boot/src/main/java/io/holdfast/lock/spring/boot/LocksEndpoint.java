package io.holdfast.lock.spring.boot;

import io.holdfast.lock.HeldLock;
import io.holdfast.lock.LockClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * The Actuator endpoint {@code locks}: which locks of the store are held, by whom and since when,
 * and how many clients wait. With {@code management.endpoint.locks.access=unrestricted}, a lock can
 * be taken from its holder by its token; by default the endpoint only reads.
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
final class LocksEndpoint {
  private static final int LIMIT_DEFAULT = 100;

  private final LockClient client;

  LocksEndpoint(LockClient client) {
    this.client = client;
  }

  /**
   * Lists the locks that are held.
   *
   * @param prefix the beginning of their names; all if it is absent
   * @param limit the most to list, 1 to 10,000; 100 if it is absent
   */
  @ReadOperation
  Locks list(@Nullable String prefix, @Nullable Integer limit) {
    int most = limit == null ? LIMIT_DEFAULT : limit;
    try {
      List<Lock> locks =
          client.list(prefix == null ? "" : prefix, most).stream().map(Lock::of).toList();
      return new Locks(locks, locks.size() == most);
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(Property.message(e), Property.message(e), e);
    }
  }

  /**
   * Takes a lock from its holder, if the holder's grant has this token.
   *
   * @param name the lock's name
   * @param token the token that the list shows
   */
  @DeleteOperation
  Released forceRelease(String name, long token) {
    try {
      return new Released(name, token, client.get(name).forceRelease(token));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(Property.message(e), Property.message(e), e);
    }
  }

  /**
   * The answer to a list.
   *
   * @param more whether there may be more locks than the limit let through
   */
  record Locks(List<Lock> locks, boolean more) {}

  /**
   * A lock that is held.
   *
   * @param since null if the store does not know
   * @param waiting the number of clients that wait; null if the store does not count them
   * @param released whether only a minimum hold keeps the name taken
   */
  record Lock(
      String name,
      long token,
      String holder,
      @Nullable Instant since,
      Duration remaining,
      @Nullable Integer waiting,
      boolean released) {
    static Lock of(HeldLock lock) {
      OptionalInt waiting = lock.waiting();
      return new Lock(
          lock.name(),
          lock.token(),
          lock.description(),
          lock.since().equals(Instant.EPOCH) ? null : lock.since(),
          lock.remaining(),
          waiting.isPresent() ? waiting.getAsInt() : null,
          lock.isReleased());
    }
  }

  /**
   * The answer to a forced release.
   *
   * @param released false if the lock is free, or has another token by now
   */
  record Released(String name, long token, boolean released) {}
}
