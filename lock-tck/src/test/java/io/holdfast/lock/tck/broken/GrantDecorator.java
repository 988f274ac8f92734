package io.holdfast.lock.tck.broken;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Changes what the engine is told about its grants, or what the store is told about claims. */
abstract class GrantDecorator extends StoreDecorator {
  /** A grant as the engine sees it, and as the store knows it. */
  record Changed(Grant real, Claim claim, long number, Duration validFor, int permit)
      implements Grant {
    /** Has the permit that it really has. */
    Changed(Grant real, Claim claim, long number, Duration validFor) {
      this(real, claim, number, validFor, real.permit());
    }

    @Override
    public Duration crashBound() {
      return claim.ttl();
    }
  }

  GrantDecorator(LockStore store) {
    super(store);
  }

  /** The claim that the store is asked for. */
  Claim asked(Claim claim) {
    return claim;
  }

  /** The grant that the engine is told of. */
  Changed told(Grant real, Claim claim, Duration took) {
    return new Changed(real, claim, real.number(), claim.ttl());
  }

  /** For how long a renewal is said to be good. */
  Duration told(Duration validFor, Duration took) {
    return validFor;
  }

  private static Grant real(Grant grant) {
    return grant instanceof Changed changed ? changed.real() : grant;
  }

  private static Duration since(long startNanos) {
    return Duration.ofNanos(System.nanoTime() - startNanos);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    long start = System.nanoTime();
    return super.tryAcquire(asked(claim)).map(grant -> told(grant, claim, since(start)));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    long start = System.nanoTime();
    Acquisition acquisition = super.acquireOrQueue(asked(claim), wakeUp);
    if (acquisition instanceof Acquisition.Granted granted) {
      return new Acquisition.Granted(told(granted.grant(), claim, since(start)));
    }
    Acquisition.Queued queued = (Acquisition.Queued) acquisition;
    return new Acquisition.Queued(
        new TicketDecorator(queued.ticket()) {
          @Override
          public Status poll() throws StoreException {
            long polled = System.nanoTime();
            Status status = super.poll();
            return status instanceof Granted granted
                ? new Ticket.Granted(told(granted.grant(), claim, since(polled)))
                : status;
          }
        },
        queued.recheckAfter());
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    return super.release(real(grant), holdFor);
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    super.withdraw(asked(claim));
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return super.renewalGroup(real(grant));
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    long start = System.nanoTime();
    List<Renewal> results =
        super.renew(grants.stream().map(GrantDecorator::real).toList());
    return results.stream()
        .map(result -> result instanceof Renewal.Renewed renewed
            ? new Renewal.Renewed(told(renewed.validFor(), since(start)))
            : result)
        .toList();
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return super.verify(real(grant));
  }
}
