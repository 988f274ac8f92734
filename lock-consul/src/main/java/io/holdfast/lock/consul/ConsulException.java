package io.holdfast.lock.consul;

/**
 * What Consul answered in place of doing what it was asked for. The cause of a
 * {@link io.holdfast.lock.LockStoreException}.
 */
public final class ConsulException extends Exception {
  private static final long serialVersionUID = 1;

  private final Problem problem;
  private final int status;

  ConsulException(Problem problem, int status, String message) {
    super(message);
    this.problem = problem;
    this.status = status;
  }

  /** What is wrong. */
  public Problem problem() {
    return problem;
  }

  /** The HTTP status of the answer. */
  public int status() {
    return status;
  }

  /** What can be wrong. Constants may be added. */
  public enum Problem {
    /** The token does not allow it, or is unknown. */
    ACL_DENIED,
    /** The agent has too many requests or connections of this client (429). */
    TOO_MANY_REQUESTS,
    /** The servers have no leader at the moment. */
    NO_LEADER,
    /** A session ended as soon as it was made. */
    SESSION_GONE,
    /** Anything else; the message is Consul's. */
    OTHER
  }
}
