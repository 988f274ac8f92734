package io.holdfast.lock.spring.boot;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Passes the values of properties to builders that may refuse them. */
final class Property {
  private Property() {}

  /**
   * Calls the function with the property's value.
   *
   * @throws LockConfigurationException the function refused the value; the message names the
   *     property
   */
  static <T, R> R apply(String name, T value, Function<? super T, ? extends R> function) {
    try {
      return function.apply(value);
    } catch (IllegalArgumentException e) {
      throw new LockConfigurationException(
          "The property " + name + " can't be used: " + message(e), "correct " + name, e);
    }
  }

  /** Does {@link #apply} if the property is set; returns the other value if it is not. */
  static <T, R> R applyIfSet(
      String name, @Nullable T value, R otherwise, Function<? super T, ? extends R> function) {
    return value == null ? otherwise : apply(name, value, function);
  }

  /** Returns an exception's message without the full stop at its end. */
  static String message(Throwable failure) {
    String message = String.valueOf(failure.getMessage()).strip();
    return message.endsWith(".") ? message.substring(0, message.length() - 1) : message;
  }
}
