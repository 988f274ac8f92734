package io.holdfast.lock.schedule;

import java.io.Serial;

/** A schedule broke a rule. */
final class Broken extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1;

  private final Rule rule;

  Broken(Rule rule, String message) {
    super(rule + ": " + message);
    this.rule = rule;
  }

  Rule rule() {
    return rule;
  }
}
