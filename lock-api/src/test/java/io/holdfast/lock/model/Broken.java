package io.holdfast.lock.model;

import java.io.Serial;

/** An episode broke a rule. */
final class Broken extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1;

  private final transient Rule rule;

  Broken(Rule rule, String message) {
    super(rule + ": " + message);
    this.rule = rule;
  }

  Broken(Rule rule, String message, Throwable cause) {
    super(rule + ": " + message, cause);
    this.rule = rule;
  }

  Rule rule() {
    return rule;
  }
}
