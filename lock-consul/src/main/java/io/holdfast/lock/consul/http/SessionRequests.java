package io.holdfast.lock.consul.http;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The requests to Consul about sessions. */
public final class SessionRequests {
  /** The shortest TTL of a session that Consul accepts. */
  public static final long TTL_SECONDS_MIN = 10;

  /** The longest TTL of a session that Consul accepts. */
  public static final long TTL_SECONDS_MAX = 86_400;

  private final ConsulHttp http;
  private final String clientName;

  /** The shortest TTL of a session that this Consul is known to accept. */
  private volatile long acceptedSeconds = TTL_SECONDS_MAX;

  public SessionRequests(ConsulHttp http, String clientName) {
    this.http = http;
    this.clientName = clientName;
  }

  /**
   * Creates a session. Its keys outlive it.
   *
   * @return its id
   */
  public String create(long ttlSeconds, Deadline deadline) throws StoreException {
    return create("holdfast " + clientName, ttlSeconds, "", deadline);
  }

  public long acceptedSeconds() {
    return acceptedSeconds;
  }

  /**
   * Creates a session whose end is to prove that its TTL has passed.
   *
   * @param node the node that it is to belong to; empty: that of the agent
   * @return its id
   */
  public String createTimer(long ttlSeconds, String node, Deadline deadline) throws StoreException {
    String name = "holdfast " + clientName + " timer: if it is destroyed, two may hold a lock";
    return create(name, ttlSeconds, node, deadline);
  }

  private String create(String name, long ttlSeconds, String node, Deadline deadline)
      throws StoreException {
    // No checks: with the default ones, the session would end with the health of its node.
    // No lock-delay: a server that restarts forgets it, so it proves nothing.
    // The keys are released, not deleted, since a holder may still trust its lease.
    String body = "{\"Name\":"
        + Json.quote(name)
        + (node.isEmpty() ? "" : ",\"Node\":" + Json.quote(node))
        + ",\"TTL\":\""
        + ttlSeconds
        + "s\",\"Behavior\":\"release\",\"LockDelay\":\"0ms\",\"Checks\":[]}";
    Answer answer;
    try {
      // A second session would stay for as long as its TTL, of which nobody knows.
      answer = http.putOnce("v1/session/create", body, deadline);
    } catch (StoreException e) {
      if (String.valueOf(e.getMessage()).contains("Invalid Session TTL")) {
        throw StoreException.refused(
            ("Consul has no sessions of %s s: its session_ttl_min is higher. Take longer TTLs, or"
                    + " lower it. %s")
                .formatted(ttlSeconds, e.getMessage()),
            e.getCause());
      }
      throw e;
    }
    if (answer.status() == 200
        && answer.json() instanceof Map<?, ?> json
        && json.get("ID") instanceof String id) {
      acceptedSeconds = Math.min(acceptedSeconds, ttlSeconds);
      return id;
    }
    throw http.answers.notConsuls(answer);
  }

  /** Renews a session; false: it has certainly ended. */
  public boolean renew(String id, Deadline deadline) throws StoreException {
    Answer answer = http.put("v1/session/renew/" + id, deadline);
    if (answer.status() != 404 && !sessions(answer).isEmpty()) {
      return true;
    }
    // A leader that was just elected may not know its sessions yet. A consistent read waits until
    // it does.
    if (!info(id, deadline).isEmpty()) {
      throw StoreException.refused("Consul's leader does not know its sessions yet", null);
    }
    return false;
  }

  /** Returns what Consul knows of a session, by a consistent read. */
  private List<?> info(String id, Deadline deadline) throws StoreException {
    return sessions(http.get("v1/session/info/" + id, ConsulHttp.CONSISTENT, deadline));
  }

  /** Reads the list of sessions in an answer. */
  private List<?> sessions(Answer answer) throws StoreException {
    if (answer.status() == 200 && answer.json() instanceof List<?> sessions) {
      return sessions;
    }
    throw http.answers.notConsuls(answer);
  }

  /**
   * Returns the node that a session belongs to. When the node leaves the cluster, the session ends.
   */
  public String node(String id, Deadline deadline) throws StoreException {
    List<?> sessions = info(id, deadline);
    if (sessions.size() == 1
        && sessions.get(0) instanceof Map<?, ?> session
        && session.get("Node") instanceof String node
        && !node.isEmpty()) {
      return node;
    }
    throw StoreException.refused("Consul told no node of a session: " + sessions, null);
  }

  /** Destroys a session, so that no request that is still on its way can use it. */
  public void destroy(String id, Deadline deadline) throws StoreException {
    Answer answer = http.put("v1/session/destroy/" + id, deadline);
    if (answer.status() != 200 || !Boolean.TRUE.equals(answer.json())) {
      throw http.answers.notConsuls(answer);
    }
  }

  /** Waits for a request about a session that another thread sends. */
  public static <T> T await(CompletableFuture<T> answer, String failure, Deadline deadline)
      throws StoreException {
    return deadline.awaitUninterruptibly(leftNanos -> {
      try {
        return answer.get(leftNanos, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        throw StoreException.refused(
            failure + " within the store timeout of " + deadline.whole(), e);
      } catch (ExecutionException e) {
        throw e.getCause() instanceof StoreException cause
            ? cause
            : StoreException.refused(failure + ": " + e.getCause(), e.getCause());
      }
    });
  }
}
