package io.holdfast.lock.spi;

import java.time.Duration;

/** The outcome of a renewal for one grant. */
public sealed interface Renewal {
  /**
   * The grant stands.
   *
   * @param validFor the time for which it does, counted from the moment at which the engine called
   *     {@link LockStore#renew}
   */
  record Renewed(Duration validFor) implements Renewal {}

  /** The store does not show the grant as the holder; it was not revived. */
  record Lost() implements Renewal {}

  /**
   * No usable answer about this one.
   *
   * @param cause why
   */
  record Unknown(Throwable cause) implements Renewal {}
}
