package io.holdfast.lock.internal.event;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells listeners and Flight Recorder what happens. An event that can't be told is logged and
 * dropped; but a caller must expect an Error for lack of memory, and from {@link #tellLoss}.
 */
public final class Events {
  private static final SafeLogger log = SafeLogger.of(Events.class);

  private final List<LockListener> listeners;
  private final Callbacks callbacks;
  private final TimeSource time;

  /** @param listeners told in this order */
  public Events(List<LockListener> listeners, Callbacks callbacks, TimeSource time) {
    this.listeners = listeners;
    this.callbacks = callbacks;
    this.time = time;
  }

  /** Whether anybody listens. */
  public boolean isHeard() {
    return !listeners.isEmpty();
  }

  /** Begins the events of one call to acquire a lock; the result's methods end them. */
  public Acquiring acquiring(LockKey key, Claim.Mode mode) {
    return new Acquiring(key.name(), mode(mode));
  }

  private static LockListener.Mode mode(Claim.Mode mode) {
    if (mode instanceof Claim.Permit) {
      return LockListener.Mode.PERMIT;
    }
    return mode instanceof Claim.Shared ? LockListener.Mode.READ : LockListener.Mode.EXCLUSIVE;
  }

  /** The events of one call to acquire a lock. */
  public final class Acquiring {
    private final String lockName;
    private final LockListener.Mode mode;
    private final long sinceNanos = time.nanos();
    private final JfrEvents.Acquire jfrEvent = new JfrEvents.Acquire();
    private boolean waits;

    private Acquiring(String lockName, LockListener.Mode mode) {
      this.lockName = lockName;
      this.mode = mode;
      jfrEvent.begin();
    }

    /** Returns the time since the call. */
    private Duration waited() {
      return Duration.ofNanos(time.nanos() - sinceNanos);
    }

    /** The call has to wait; told once. */
    public void waiting() {
      if (!waits && isHeard()) {
        waits = true;
        tell(() -> new PlainEvent(lockName, mode), LockListener::waiting);
      }
    }

    /** The thread asks for a lock whose open lease it acquired itself. */
    public void waitsForItself() {
      if (isHeard()) {
        tell(() -> new PlainEvent(lockName, mode), LockListener::waitsForItself);
      }
    }

    /** The call got a lease. */
    public void acquired(long token, LockListener.Source source) {
      commit(token, source.name());
      if (isHeard()) {
        tell(
            () -> new AcquiredEvent(lockName, mode, token, waited(), source),
            LockListener::acquired);
      }
    }

    /** The call got no lease. */
    public void notAcquired(@Nullable Throwable failure) {
      commit(0, failure == null ? "TAKEN" : failure.getClass().getSimpleName());
      if (isHeard()) {
        tell(
            () -> new NotAcquiredEvent(lockName, mode, waited(), Optional.ofNullable(failure)),
            LockListener::notAcquired);
      }
    }

    private void commit(long token, String outcome) {
      try {
        jfrEvent.end();
        if (jfrEvent.shouldCommit()) {
          jfrEvent.lock = lockName;
          jfrEvent.token = token;
          jfrEvent.outcome = outcome;
          jfrEvent.commit();
        }
      } catch (Throwable e) {
        dropped(e);
      }
    }
  }

  /**
   * A lease was closed by its holder, on the caller's thread.
   *
   * @param confirmed whether the store confirmed the release, or the lease was handed on
   */
  public void released(HeldLease lease, boolean confirmed) {
    commitHeld(lease, true);
    if (isHeard()) {
      tell(() -> releasedEvent(lease, confirmed), LockListener::released);
    }
  }

  /** A lease was released, as in {@link #released}, after its holder's call has returned. */
  public void releasedInBackground(HeldLease lease, boolean confirmed) {
    commitHeld(lease, true);
    tellInBackground(() -> releasedEvent(lease, confirmed), LockListener::released);
  }

  private LockListener.Released releasedEvent(HeldLease lease, boolean confirmed) {
    return new ReleasedEvent(
        lease.lockName(),
        mode(lease.claim().mode()),
        lease.token(),
        Duration.ofNanos(time.nanos() - lease.sinceNanos()),
        confirmed);
  }

  /**
   * Runs something in the background, after the events before it; only there may {@link #renewed},
   * {@link #uncertain} and {@link #confirmed} be called. Does nothing if nobody listens, and drops
   * it if too many events are pending.
   */
  public void inOrder(Runnable telling) {
    if (isHeard()) {
      try {
        callbacks.runInOrder(telling);
      } catch (Throwable e) {
        dropped(e);
      }
    }
  }

  /** A lease was renewed, or extended by its user. Called only within {@link #inOrder}. */
  public void renewed(HeldLease lease) {
    tell(() -> leaseEvent(lease), LockListener::renewed);
  }

  /** A lease became uncertain. Called only within {@link #inOrder}. */
  public void uncertain(HeldLease lease) {
    tell(() -> leaseEvent(lease), LockListener::uncertain);
  }

  /** An uncertain lease was confirmed. Called only within {@link #inOrder}. */
  public void confirmed(HeldLease lease) {
    tell(() -> leaseEvent(lease), LockListener::confirmed);
  }

  /** A lease became unreachable without being closed. */
  public void leaked(HeldLease lease) {
    tellInBackground(() -> leaseEvent(lease), LockListener::leaked);
  }

  /** A lease was lost. Its own listeners are told by {@link #tellLoss}. */
  public void lost(HeldLease lease, LeaseLoss loss) {
    commitHeld(lease, false);
    try {
      JfrEvents.Lost jfrEvent = new JfrEvents.Lost();
      if (jfrEvent.shouldCommit()) {
        jfrEvent.lock = loss.name();
        jfrEvent.token = loss.token();
        jfrEvent.reason = loss.reason().name();
        jfrEvent.commit();
      }
    } catch (Throwable e) {
      dropped(e);
    }
    tellInBackground(
        () -> new LostEvent(loss.name(), mode(lease.claim().mode()), loss.token(), loss),
        LockListener::lost);
  }

  /**
   * Tells a lease's own listener. Unlike the rest of this class it throws if there is no memory for
   * that.
   */
  public void tellLoss(LeaseLoss loss, Consumer<? super LeaseLoss> listener) {
    callbacks.run(() -> listener.accept(loss));
  }

  private static void commitHeld(HeldLease lease, boolean released) {
    try {
      JfrEvents.Held jfrEvent = lease.jfrEvent();
      jfrEvent.end();
      if (jfrEvent.shouldCommit()) {
        jfrEvent.lock = lease.lockName();
        jfrEvent.token = lease.token();
        jfrEvent.released = released;
        jfrEvent.commit();
      }
    } catch (Throwable e) {
      dropped(e);
    }
  }

  private static LockListener.LeaseEvent leaseEvent(HeldLease lease) {
    return new PlainLeaseEvent(lease.lockName(), mode(lease.claim().mode()), lease.token());
  }

  /** Tells all listeners, on this thread. */
  private <E> void tell(Supplier<E> about, BiConsumer<LockListener, E> telling) {
    try {
      E event = about.get();
      for (LockListener listener : listeners) {
        Callbacks.guarded(() -> telling.accept(listener, event));
      }
    } catch (Throwable e) {
      dropped(e);
    }
  }

  private <E> void tellInBackground(Supplier<E> about, BiConsumer<LockListener, E> telling) {
    if (isHeard()) {
      try {
        E event = about.get();
        callbacks.runInOrder(() -> tell(() -> event, telling));
      } catch (Throwable e) {
        dropped(e);
      }
    }
  }

  private static void dropped(Throwable cause) {
    log.warn("An event of a lock could not be told", cause, null);
  }

  private record PlainEvent(String lockName, LockListener.Mode mode)
      implements LockListener.LockEvent {}

  private record PlainLeaseEvent(String lockName, LockListener.Mode mode, long token)
      implements LockListener.LeaseEvent {}

  private record AcquiredEvent(
      String lockName,
      LockListener.Mode mode,
      long token,
      Duration waited,
      LockListener.Source source)
      implements LockListener.Acquired {}

  private record NotAcquiredEvent(
      String lockName, LockListener.Mode mode, Duration waited, Optional<Throwable> failure)
      implements LockListener.NotAcquired {}

  private record ReleasedEvent(
      String lockName, LockListener.Mode mode, long token, Duration held, boolean confirmed)
      implements LockListener.Released {}

  private record LostEvent(String lockName, LockListener.Mode mode, long token, LeaseLoss loss)
      implements LockListener.Lost {}
}
