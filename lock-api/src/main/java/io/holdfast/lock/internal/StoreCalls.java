package io.holdfast.lock.internal;

import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;

/**
 * The boundary to a store. Whatever it throws, declared or not, means the same to the engine: there
 * is no usable answer.
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
    } catch (StoreException e) {
      throw e;
    } catch (Throwable e) { // Also errors, and checked exceptions of stores in other languages.
      throw StoreException.unanswered("The store failed: " + e, e);
    }
  }

  /**
   * The exception for the caller whose question failed.
   *
   * @throws Error the store threw one: it is the caller's thread, and its to hear
   */
  static LockStoreException failure(LockKey key, StoreException e) {
    if (e.getCause() instanceof Error error) {
      throw error;
    }
    return new LockStoreException(
        key.name(),
        "The store gave no usable answer about lock '" + key.name() + "': " + e.getMessage(),
        e);
  }

  /** The exception for a caller that asked through another thread. */
  static LockStoreException failureAhead(LockKey key, StoreException e) {
    return new LockStoreException(
        key.name(),
        "The store gave no usable answer about lock '" + key.name() + "': " + e.getMessage(),
        e);
  }
}
