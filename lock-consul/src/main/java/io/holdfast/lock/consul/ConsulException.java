package io.holdfast.lock.consul;

/** An error that Consul answered, as the cause of a {@link io.holdfast.lock.LockStoreException}. */
public final class ConsulException extends Exception {
  private static final long serialVersionUID = 1;

  private final Problem problem;
  private final int status;

  ConsulException(Problem problem, int status, String message) {
    super(message);
    this.problem = problem;
    this.status = status;
  }

  /** Returns the kind of error. */
  public Problem problem() {
    return problem;
  }

  /** Returns the HTTP status of the answer. */
  public int status() {
    return status;
  }

  /** The kinds of error. Constants may be added. */
  public enum Problem {
    /** The ACL token is unknown, or lacks a right. */
    ACL_DENIED,
    /** The agent has too many requests or connections from this address (429). */
    TOO_MANY_REQUESTS,
    /** The servers have no leader at the moment. */
    NO_LEADER,
    /** A session ended as soon as it was created. */
    SESSION_GONE,
    /** Anything else; the message is Consul's. */
    OTHER
  }
}
