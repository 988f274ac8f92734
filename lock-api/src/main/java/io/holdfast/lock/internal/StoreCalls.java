package io.holdfast.lock.internal;

import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;

/**
 * The boundary between the engine and a store. Whatever the store throws, declared or not, means
 * that there is no usable answer.
 */
final class StoreCalls {
  private StoreCalls() {}

  /** A call to the store. */
  interface Call<T> {
    T run() throws StoreException;
  }

  static <T> T call(Call<T> call) throws StoreException {
    try {
      return call.run();
    } catch (Throwable e) {
      throw failureOfStore(e);
    }
  }

  /**
   * Returns what the store threw as a {@link StoreException}: Errors too, and undeclared checked
   * exceptions of stores written in other languages.
   */
  static StoreException failureOfStore(Throwable thrown) {
    return thrown instanceof StoreException known
        ? known
        : StoreException.unanswered("The store failed: " + thrown, thrown);
  }

  /**
   * Makes a call with the thread's interrupt flag cleared, since drivers fail if it is set, and
   * sets it again afterwards.
   */
  static <T> T callUninterrupted(Call<T> call) throws StoreException {
    boolean interrupted = Thread.interrupted();
    try {
      return call(call);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Makes the exception for the caller whose own request failed.
   *
   * @throws Error the store threw one: the caller, on whose thread it was thrown, must see it
   */
  static LockStoreException failure(LockKey key, StoreException e) {
    if (e.getCause() instanceof Error error) {
      throw error;
    }
    return failureAhead(key, e);
  }

  /** Makes the exception for a caller that waited for another thread's answer. */
  static LockStoreException failureAhead(LockKey key, StoreException e) {
    return new LockStoreException(
        key.name(),
        "The store gave no usable answer about lock '" + key.name() + "': " + e.getMessage(),
        e);
  }
}
