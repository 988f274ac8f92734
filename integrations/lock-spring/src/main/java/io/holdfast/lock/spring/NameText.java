package io.holdfast.lock.spring;

import java.time.ZoneId;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.List;
import java.util.UUID;
import org.springframework.util.ClassUtils;

/**
 * The text of a value in the name of a lock. Only values of types whose text is the same on every
 * machine have one: a {@code java.util.Date}, for example, has that of the machine's time zone.
 */
final class NameText {
  private static final List<Class<?>> TYPES = List.of(
      CharSequence.class,
      Character.class,
      Number.class,
      Boolean.class,
      Enum.class,
      UUID.class,
      TemporalAccessor.class,
      TemporalAmount.class,
      ZoneId.class);

  /** The advice for a value that has no text. */
  static final String REMEDY = "take a part of it that is a text, a number, an enum, a UUID or of"
      + " java.time: #{#order.id}, #{#date.toInstant()}";

  private NameText() {}

  /** Whether a value whose declared type is this can have a text. */
  static boolean isPossible(Class<?> declared) {
    Class<?> type = ClassUtils.resolvePrimitiveIfNecessary(declared);
    return TYPES.stream()
        .anyMatch(each -> each.isAssignableFrom(type) || type.isAssignableFrom(each));
  }

  /** Whether this value has a text. */
  static boolean isOf(Object value) {
    return TYPES.stream().anyMatch(type -> type.isInstance(value));
  }

  /** Returns the text of a value that has one. */
  static String of(Object value) {
    return value instanceof Enum<?> constant ? constant.name() : value.toString();
  }
}
