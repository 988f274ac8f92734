package io.holdfast.lock.tck.broken;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Changes what the store is told about claims, or what the engine is told about grants. */
abstract class OtherGrants implements UnaryOperator<LockStore> {
  /** A grant as the engine sees it, and as the store knows it. */
  record Changed(Grant real, Claim claim, long number, Duration validFor, int permit)
      implements PermitGrant {
    /** Makes a grant with the real permit. */
    Changed(Grant real, Claim claim, long number, Duration validFor) {
      this(real, claim, number, validFor, ((PermitGrant) real).permit());
    }

    @Override
    public Duration crashBound(Duration ttl) {
      return ttl;
    }
  }

  /** Returns a bug in what names locks have at the store. */
  static OtherGrants renaming(UnaryOperator<String> change) {
    return new OtherGrants() {
      @Override
      LockKey asked(LockKey key) {
        return new LockKey(key.kind(), change.apply(key.name()));
      }
    };
  }

  /** Returns a bug in renewals: all are said to be made, and none is. */
  static UnaryOperator<LockStore> renewingNothing() {
    return Decorator.in(
        "renew",
        (LockStore real, List<Grant> grants) -> grants.stream()
            .map(grant -> new Renewal.Renewed(grant.claim().ttl()))
            .toList());
  }

  /** Returns a bug in how long the store keeps grants. */
  static OtherGrants lasting(Duration ttl) {
    return new OtherGrants() {
      @Override
      Claim asked(Claim claim) {
        return changed(claim, ttl, claim.mode());
      }
    };
  }

  /** Returns the lock that the store is asked for. */
  LockKey asked(LockKey key) {
    return key;
  }

  /** Returns the claim that the store is asked for. */
  Claim asked(Claim claim) {
    return changed(claim, claim.ttl(), claim.mode());
  }

  final Claim changed(Claim claim, Duration ttl, Claim.Mode mode) {
    return new Claim(
        asked(claim.key()), mode, claim.ownerId(), ttl, claim.minHold(), claim.holder());
  }

  /** Returns the grant that the engine is told of. */
  Changed told(Grant real, Claim claim, Duration took) {
    return new Changed(real, claim, real.number(), claim.ttl());
  }

  /** Returns the time for which the engine is told that a renewal is valid. */
  Duration told(Duration validFor, Duration took) {
    return validFor;
  }

  @Override
  public LockStore apply(LockStore store) {
    return Decorator.around(LockStore.class, store, (method, arguments, call) -> {
      long start = System.nanoTime();
      Object result = call.proceed(Stream.of(arguments).map(this::real).toArray());
      return told(result, arguments, start);
    });
  }

  private Object real(Object argument) {
    if (argument instanceof LockKey key) {
      return asked(key);
    }
    if (argument instanceof Claim claim) {
      return asked(claim);
    }
    if (argument instanceof List<?> list) {
      return list.stream().map(this::real).toList();
    }
    return argument instanceof Changed changed ? changed.real() : argument;
  }

  private Object told(Object result, Object[] asked, long startNanos) {
    Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
    if (result instanceof Grant grant) {
      return told(grant, (Claim) asked[0], took);
    }
    if (result instanceof Renewal.Renewed renewed) {
      return new Renewal.Renewed(told(renewed.validFor(), took));
    }
    if (result instanceof List<?> list) {
      return list.stream().map(one -> told(one, asked, startNanos)).toList();
    }
    if (result instanceof Optional<?> optional) {
      return optional.map(one -> told(one, asked, startNanos));
    }
    if (result instanceof Ticket.Granted granted) {
      return new Ticket.Granted(told(granted.grant(), (Claim) asked[0], took));
    }
    if (result instanceof Acquisition.Granted granted) {
      return new Acquisition.Granted(told(granted.grant(), (Claim) asked[0], took));
    }
    if (result instanceof Acquisition.Queued queued) {
      Ticket ticket = Decorator.around(Ticket.class, queued.ticket(), (method, none, call) -> {
        long polled = System.nanoTime();
        return told(call.proceed(none), asked, polled);
      });
      return new Acquisition.Queued(ticket, queued.recheckAfter());
    }
    return result;
  }
}
