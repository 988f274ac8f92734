package io.holdfast.lock.spi;

import java.time.Duration;

/** The result of a renewal for one grant. */
public sealed interface Renewal {
  /**
   * The grant was extended.
   *
   * @param validFor the time for which it is valid, counted from when the engine called
   *     {@link LockStore#renew}
   */
  record Renewed(Duration validFor) implements Renewal {}

  /** The store does not show the grant as the holder; nothing was changed. */
  record Lost() implements Renewal {}

  /**
   * There was no usable answer about this grant.
   *
   * @param cause the reason
   */
  record Unknown(Throwable cause) implements Renewal {}
}
