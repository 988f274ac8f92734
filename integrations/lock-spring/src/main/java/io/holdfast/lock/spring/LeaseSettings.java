package io.holdfast.lock.spring;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/** The options that a {@link Locked} sets for its leases, on top of a client's default options. */
final class LeaseSettings {
  /** The name of a lock that options are tried on: the client refuses a TTL that is too short. */
  private static final String SOME_NAME = "holdfast";

  private final Place place;
  private final Locked locked;
  private final UnaryOperator<@Nullable String> placeholders;

  LeaseSettings(Place place, Locked locked, UnaryOperator<@Nullable String> placeholders) {
    this.place = place;
    this.locked = locked;
    this.placeholders = placeholders;
  }

  Duration waitFor() {
    return duration("waitFor", locked.waitFor()).orElse(Duration.ZERO);
  }

  /** The options that all leases of the method have, accepted by the client. */
  LockOptions options(LockOptions defaults, LockOfName locks, boolean isStage) {
    Duration ttl = duration("ttl", locked.ttl()).orElse(defaults.ttl());
    boolean renewed = locked.mode() == LeaseMode.CLIENT_DEFAULT
        ? defaults.isRenewed()
        : locked.mode() == LeaseMode.RENEWED;
    LockOptions options =
        attempt("ttl", () -> renewed ? LockOptions.renewed(ttl) : LockOptions.fixed(ttl));
    // A read has none, so that of the client is for its other locks.
    Duration minHold = duration("minHold", locked.minHold())
        .orElse(locked.read() ? Duration.ZERO : defaults.minHold());
    LockOptions withMinHold = attempt("minHold", () -> options.withMinHold(minHold));
    if (locked.read() && !minHold.isZero()) {
      throw place.invalid("minHold", "a read has none", "leave it out");
    }
    LockOptions held = duration("maxHold", locked.maxHold())
        .or(() -> renewed ? defaults.maxHold() : Optional.empty())
        .map(maxHold -> attempt("maxHold", () -> withMinHold.withMaxHold(maxHold)))
        .orElse(withMinHold);
    LockOptions owned = held.withOwnership(isStage ? Ownership.LEASE : defaults.ownership());
    if (locked.permits() != 0) {
      LockOptions unused =
          attempt("permits", () -> locks.get(SOME_NAME, defaults).options());
    }
    return attempt("ttl", () -> locks.get(SOME_NAME, owned).options());
  }

  private Optional<Duration> duration(String attribute, String written) {
    if (written.isEmpty()) {
      return Optional.empty();
    }
    String text = resolve(place, attribute, written, placeholders);
    if (text.matches("[+-]?\\d+")) {
      throw place.invalid(
          attribute, "'" + text + "' has no unit", "write " + text + "s or " + text + "ms");
    }
    Duration duration;
    try {
      duration = DurationFormatterUtils.detectAndParse(text);
    } catch (IllegalArgumentException e) {
      throw place.invalid(
          attribute, "'" + text + "' is not a duration", "write it like 10s, 500ms or PT10S");
    }
    if (duration.isNegative()) {
      throw place.invalid(attribute, "'" + text + "' is negative", "write zero or more");
    }
    return Optional.of(duration);
  }

  /** The value of an attribute with its placeholders replaced. */
  static String resolve(
      Place place, String attribute, String written, UnaryOperator<@Nullable String> placeholders) {
    String text = null;
    try {
      text = placeholders.apply(written);
    } catch (IllegalArgumentException e) {
      // Refused below.
    }
    if (text == null || text.contains("${")) {
      throw place.invalid(
          attribute,
          "'" + written + "' has a placeholder without a value",
          "set the property, or write a default as in ${property:default}"
              + (attribute.equals("name") ? ", or #{#parameter} if you mean a parameter" : ""));
    }
    return text;
  }

  private LockOptions attempt(String attribute, Supplier<LockOptions> options) {
    try {
      return options.get();
    } catch (IllegalArgumentException e) {
      // The message says what is wrong and mostly, after a colon, what to do.
      String[] said = String.valueOf(e.getMessage()).split(": ", 2);
      throw place.invalid(attribute, said[0], said.length > 1 ? said[1] : "change the annotation");
    }
  }
}
