package io.holdfast.lock.model;

import io.holdfast.lock.simulation.Sneaky;
import io.holdfast.lock.spi.StoreException;
import java.io.IOException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/** A way for a call out of the engine to fail. */
enum Failure {
  MEMORY(() -> new OutOfMemoryError(Failure.MESSAGE)),
  STACK(() -> new StackOverflowError(Failure.MESSAGE)),
  RUNTIME(() -> new IllegalArgumentException(Failure.MESSAGE)),
  /** As code in other languages throws it. */
  UNDECLARED(() -> new IOException(Failure.MESSAGE)),
  THREAD_DEATH(Failure::threadDeath),
  REJECTED(() -> new RejectedExecutionException(Failure.MESSAGE)),
  /** As a store says that it changed nothing. */
  REFUSED(() -> StoreException.refused(Failure.MESSAGE, null)),
  /** As a store says that it does not know. */
  UNANSWERED(() -> StoreException.unanswered(Failure.MESSAGE, null)),
  /** Nothing is done, and nothing is thrown: it is caught by whoever can drop what it is given. */
  DROPPED(() -> new CancellationException(Failure.MESSAGE));

  static final String MESSAGE = "injected";

  @SuppressWarnings("ImmutableEnumChecker") // All are without state.
  private final Supplier<Throwable> throwable;

  Failure(Supplier<Throwable> throwable) {
    this.throwable = throwable;
  }

  /** Throws it; returns nothing, for use after {@code throw}. */
  RuntimeException thrown() {
    throw Sneaky.thrown(throwable.get());
  }

  /** Whether something that was thrown is a fault of this sort, or was caused by one. */
  static boolean isBehind(Throwable thrown) {
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      if (MESSAGE.equals(t.getMessage())
          || t.getClass().getName().equals("java.lang.ThreadDeath")) {
        return true;
      }
      for (Throwable suppressed : t.getSuppressed()) {
        if (isBehind(suppressed)) {
          return true;
        }
      }
    }
    return false;
  }

  /** By name, since it is to be removed from Java. */
  private static Throwable threadDeath() {
    try {
      return Class.forName("java.lang.ThreadDeath")
          .asSubclass(Throwable.class)
          .getDeclaredConstructor()
          .newInstance();
    } catch (ReflectiveOperationException e) {
      return new InternalError(MESSAGE);
    }
  }
}
