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
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * The Actuator endpoint {@code locks}: which locks of the store are held, by whom and since when,
 * and how many clients wait. A lock can be taken from its holder by its token if two properties say
 * so: {@code holdfast.actuator.force-release=true} and
 * {@code management.endpoint.locks.access=unrestricted}. By default the endpoint only reads.
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
final class LocksEndpoint {
  private static final int LIMIT_DEFAULT = 100;
  private static final int STATUS_FORBIDDEN = 403;
  private static final String REFUSED = "Taking a lock from its holder is not allowed: that needs"
      + " the property holdfast.actuator.force-release=true";

  private final LockClient client;
  private final boolean forceReleaseAllowed;

  /**
   * @param forceReleaseAllowed whether a forced release is allowed, if the endpoint's access allows
   *     it too
   */
  LocksEndpoint(LockClient client, boolean forceReleaseAllowed) {
    this.client = client;
    this.forceReleaseAllowed = forceReleaseAllowed;
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
  WebEndpointResponse<Released> forceRelease(String name, long token) {
    if (!forceReleaseAllowed) {
      return new WebEndpointResponse<>(new Released(name, token, false, REFUSED), STATUS_FORBIDDEN);
    }
    try {
      boolean released = client.get(name).forceRelease(token);
      return new WebEndpointResponse<>(new Released(name, token, released, null));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(Property.message(e), Property.message(e), e);
    }
  }

  /**
   * The answer to a list.
   *
   * @param more whether there may be more locks than the limit let through
   */
  record Locks(List<Lock> locks, boolean more) implements OperationResponseBody {}

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
   * @param released false if the lock is free, or has another token by now, or if it was refused
   * @param refused why it was refused; null if it was not
   */
  record Released(
      String name, long token, boolean released, @Nullable String refused)
      implements OperationResponseBody {}
}
