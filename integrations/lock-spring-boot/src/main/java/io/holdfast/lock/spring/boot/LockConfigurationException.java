package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.Nullable;

/** A mistake in the application's configuration, for which no lock client can be made. */
final class LockConfigurationException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String problem;
  private final String remedy;

  LockConfigurationException(String problem, String remedy) {
    this(problem, remedy, null);
  }

  /** @param remedy a main clause without a full stop, which names the property */
  LockConfigurationException(String problem, String remedy, @Nullable Throwable cause) {
    super(problem + ": " + remedy, cause);
    this.problem = problem;
    this.remedy = remedy;
  }

  String problem() {
    return problem;
  }

  String remedy() {
    return remedy;
  }
}
