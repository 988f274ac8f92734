package io.holdfast.lock.injection;

import io.holdfast.lock.simulation.Sneaky;
import io.holdfast.lock.spi.StoreException;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/** A way for a call out of the engine to fail. */
enum Fault {
  MEMORY(() -> new OutOfMemoryError(Fault.MESSAGE)),
  STACK(() -> new StackOverflowError(Fault.MESSAGE)),
  RUNTIME(() -> new IllegalArgumentException(Fault.MESSAGE)),
  /** As code in other languages throws it. */
  UNDECLARED(() -> new IOException(Fault.MESSAGE)),
  THREAD_DEATH(Fault::threadDeath),
  REJECTED(() -> new RejectedExecutionException(Fault.MESSAGE)),
  /** As a store says that it changed nothing. */
  REFUSED(() -> StoreException.refused(Fault.MESSAGE, null)),
  /** As a store says that it does not know. */
  UNANSWERED(() -> StoreException.unanswered(Fault.MESSAGE, null)),
  /** Nothing is thrown, and nothing is done. */
  DROPPED(() -> new Dropped(Fault.MESSAGE));

  static final String MESSAGE = "injected";

  @SuppressWarnings("ImmutableEnumChecker") // All are without state.
  private final Supplier<Throwable> throwable;

  Fault(Supplier<Throwable> throwable) {
    this.throwable = throwable;
  }

  /** To be caught by whoever can drop what it is given. */
  static final class Dropped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Dropped(String message) {
      super(message);
    }
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
