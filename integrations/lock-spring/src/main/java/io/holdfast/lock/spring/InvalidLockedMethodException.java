package io.holdfast.lock.spring;

/**
 * Thrown at start if a {@link Locked} method can't be locked as its annotation says. The message is
 * one sentence that names the bean, the method, the attribute, and the remedy.
 */
public final class InvalidLockedMethodException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String problem;
  private final String remedy;

  InvalidLockedMethodException(String where, String problem, String remedy) {
    super(where + ": " + problem + ": " + remedy);
    this.problem = where + ": " + problem;
    this.remedy = remedy;
  }

  /** Returns what is wrong, and where: the bean, the method and the attribute. */
  public String problem() {
    return problem;
  }

  /** Returns what to do about it. */
  public String remedy() {
    return remedy;
  }
}
