package io.holdfast.lock.examples.shop;

/** An event that was never opened. */
final class NoSuchEventException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  NoSuchEventException(String event) {
    super("There is no event " + event);
  }
}
