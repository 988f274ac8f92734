package io.holdfast.lock.examples.tickets;

/** Thrown if the demo cannot show what it should. */
final class DemoFailure extends Exception {
  private static final long serialVersionUID = 1;

  DemoFailure(String message) {
    super(message);
  }
}
