package io.holdfast.lock.examples.shop;

/** All tickets of an event are sold. */
final class SoldOutException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  SoldOutException(String event) {
    super(event + " is sold out");
  }
}
