package io.holdfast.lock.tck.rules;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A value that comes from another thread. */
final class Slot<T> {
  private volatile @Nullable T value;

  void set(T value) {
    this.value = value;
  }

  boolean isSet() {
    return value != null;
  }

  T get() {
    return Objects.requireNonNull(value, "no value was set");
  }
}
