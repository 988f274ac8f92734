package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;

/** The store that the lock client is built on. */
interface StoreSource {
  /** Returns which store this is. */
  StoreKind kind();

  /**
   * Returns a new builder, set up with the properties of this store.
   *
   * @throws LockConfigurationException a property has a value that can't be used
   */
  LockClientBuilder<?> builder();

  /** Returns where it is, for the log; without secrets. */
  String place();

  /** Returns what to do if the store gives no usable answer; names the properties. */
  String whenUnreachable();

  /**
   * Returns what to do if the store gave no answer within the store timeout; names the properties.
   */
  default String whenLate() {
    return whenUnreachable();
  }

  /** Returns what to do if the store can't be used as it is; names the properties. */
  String whenUnusable();
}
