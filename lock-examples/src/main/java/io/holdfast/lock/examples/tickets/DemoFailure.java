package io.holdfast.lock.examples.tickets;

/** The demo could not show what it was to show. */
final class DemoFailure extends Exception {
  private static final long serialVersionUID = 1;

  DemoFailure(String message) {
    super(message);
  }
}
