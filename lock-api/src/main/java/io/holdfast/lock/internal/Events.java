package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Tells listeners and Flight Recorder what happens. */
final class Events {
  private final List<LockListener> listeners;
  private final Callbacks callbacks;
  private final TimeSource time;

  Events(List<LockListener> listeners, Callbacks callbacks, TimeSource time) {
    this.listeners = listeners;
    this.callbacks = callbacks;
    this.time = time;
  }

  /** A call that wants a lock begins; ended by one of the methods of what is returned. */
  Asking asking(String lockName) {
    return new Asking(lockName);
  }

  /** One call that wants a lock. */
  final class Asking {
    private final String lockName;
    private final long sinceNanos = time.nanos();
    private final Flight.Acquire flight = new Flight.Acquire();

    private Asking(String lockName) {
      this.lockName = lockName;
      flight.begin();
    }

    Duration waited() {
      return Duration.ofNanos(time.nanos() - sinceNanos);
    }

    void acquired(long token, LockListener.Source source) {
      flight.end();
      if (flight.shouldCommit()) {
        commit(token, source.name());
      }
      if (!listeners.isEmpty()) {
        LockListener.Acquired event = new AcquiredEvent(lockName, token, waited(), source);
        here(listener -> listener.acquired(event));
      }
    }

    void notAcquired(@Nullable Throwable failure) {
      flight.end();
      if (flight.shouldCommit()) {
        commit(0, failure == null ? "TAKEN" : failure.getClass().getSimpleName());
      }
      if (!listeners.isEmpty()) {
        LockListener.NotAcquired event =
            new NotAcquiredEvent(lockName, waited(), Optional.ofNullable(failure));
        here(listener -> listener.notAcquired(event));
      }
    }

    private void commit(long token, String outcome) {
      flight.lock = lockName;
      flight.token = token;
      flight.outcome = outcome;
      flight.commit();
    }
  }

  void released(Hold hold, boolean confirmed) {
    held(hold, true);
    if (!listeners.isEmpty()) {
      LockListener.Released event = releasedEvent(hold, confirmed);
      here(listener -> listener.released(event));
    }
  }

  /** As {@link #released}, where the caller is long gone. */
  void releasedInBackground(Hold hold, boolean confirmed) {
    held(hold, true);
    LockListener.Released event = releasedEvent(hold, confirmed);
    inBackground(listener -> listener.released(event));
  }

  private LockListener.Released releasedEvent(Hold hold, boolean confirmed) {
    return new ReleasedEvent(
        name(hold), hold.token(), Duration.ofNanos(time.nanos() - hold.sinceNanos()), confirmed);
  }

  void waitsForItself(String lockName) {
    here(listener -> listener.waitsForItself(new PlainEvent(lockName)));
  }

  void uncertain(Hold hold) {
    LockListener.LeaseEvent event = new PlainLeaseEvent(name(hold), hold.token());
    inBackground(listener -> listener.uncertain(event));
  }

  void confirmed(Hold hold) {
    LockListener.LeaseEvent event = new PlainLeaseEvent(name(hold), hold.token());
    inBackground(listener -> listener.confirmed(event));
  }

  void leaked(Hold hold) {
    LockListener.LeaseEvent event = new PlainLeaseEvent(name(hold), hold.token());
    inBackground(listener -> listener.leaked(event));
  }

  void lost(Hold hold, LeaseLoss loss, List<Consumer<? super LeaseLoss>> lossListeners) {
    held(hold, false);
    Flight.Lost flight = new Flight.Lost();
    if (flight.shouldCommit()) {
      flight.lock = loss.name();
      flight.token = loss.token();
      flight.reason = loss.reason().name();
      flight.commit();
    }
    for (Consumer<? super LeaseLoss> lossListener : lossListeners) {
      lost(loss, lossListener);
    }
    LockListener.Lost event = new LostEvent(loss.name(), loss.token(), loss);
    inBackground(listener -> listener.lost(event));
  }

  void lost(LeaseLoss loss, Consumer<? super LeaseLoss> lossListener) {
    callbacks.run(() -> lossListener.accept(loss));
  }

  private static void held(Hold hold, boolean released) {
    Flight.Held flight = hold.flight;
    flight.end();
    if (flight.shouldCommit()) {
      flight.lock = name(hold);
      flight.token = hold.token();
      flight.released = released;
      flight.commit();
    }
  }

  private static String name(Hold hold) {
    return hold.tenure().grant().claim().key().name();
  }

  private void here(Consumer<LockListener> event) {
    for (LockListener listener : listeners) {
      Callbacks.guarded(() -> event.accept(listener));
    }
  }

  private void inBackground(Consumer<LockListener> event) {
    if (!listeners.isEmpty()) {
      callbacks.runInOrder(() -> here(event));
    }
  }

  private record PlainEvent(String lockName) implements LockListener.LockEvent {}

  private record PlainLeaseEvent(String lockName, long token) implements LockListener.LeaseEvent {}

  private record AcquiredEvent(
      String lockName, long token, Duration waited, LockListener.Source source)
      implements LockListener.Acquired {}

  private record NotAcquiredEvent(String lockName, Duration waited, Optional<Throwable> failure)
      implements LockListener.NotAcquired {}

  private record ReleasedEvent(String lockName, long token, Duration held, boolean confirmed)
      implements LockListener.Released {}

  private record LostEvent(String lockName, long token, LeaseLoss loss)
      implements LockListener.Lost {}
}
