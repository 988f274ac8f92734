package io.holdfast.lock.consul.http;

import io.holdfast.lock.consul.line.Countdown;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requests to Consul about sessions. */
public final class SessionRequests {
  private static final Logger log = LoggerFactory.getLogger(SessionRequests.class);

  /** Consul refuses TTLs outside these. */
  public static final long TTL_SECONDS_MIN = 10;

  public static final long TTL_SECONDS_MAX = 86_400;

  /** Consul takes no longer one. */
  public static final long LOCK_DELAY_SECONDS_MAX = 60;

  private final ConsulHttp http;
  private final String clientName;

  public SessionRequests(ConsulHttp http, String clientName) {
    this.http = http;
    this.clientName = clientName;
  }

  /** The fate of a session's keys when it ends. */
  public enum Behavior {
    /** They stay, and no session has them. */
    RELEASE,
    DELETE
  }

  /**
   * Makes a session.
   *
   * @param lockDelay for how long nobody may lock a key that it had when it ended
   * @return its id
   */
  public String create(long ttlSeconds, Behavior behavior, Duration lockDelay, Deadline deadline)
      throws StoreException {
    return create("holdfast " + clientName, ttlSeconds, behavior, lockDelay, "", deadline);
  }

  /**
   * Makes a session of a {@link Countdown}.
   *
   * @param node whose it is to be; empty: the agent's
   * @return its id
   */
  public String createTimer(long ttlSeconds, String node, Deadline deadline) throws StoreException {
    String name = "holdfast " + clientName + " timer: if it is destroyed, two may hold a lock";
    return create(name, ttlSeconds, Behavior.RELEASE, Duration.ZERO, node, deadline);
  }

  private String create(
      String name,
      long ttlSeconds,
      Behavior behavior,
      Duration lockDelay,
      String node,
      Deadline deadline)
      throws StoreException {
    // An empty list of checks, or the health of the agent's node would end it.
    String body = "{\"Name\":"
        + Json.quote(name)
        + (node.isEmpty() ? "" : ",\"Node\":" + Json.quote(node))
        + ",\"TTL\":\""
        + ttlSeconds
        + "s\",\"Behavior\":\""
        + behavior.name().toLowerCase(Locale.ROOT)
        + "\",\"LockDelay\":\""
        + lockDelay.toMillis()
        + "ms\",\"Checks\":[]}";
    ConsulHttp.Answer answer;
    try {
      answer = http.put("v1/session/create", body, deadline);
    } catch (StoreException e) {
      if (String.valueOf(e.getMessage()).contains("Invalid Session TTL")) {
        throw StoreException.refused(
            "Consul has no sessions of "
                + ttlSeconds
                + " s: its session_ttl_min is higher. Take longer TTLs, or lower it. "
                + e.getMessage(),
            e.getCause());
      }
      throw e;
    }
    if (answer.status() == 200
        && answer.json() instanceof Map<?, ?> json
        && json.get("ID") instanceof String id) {
      return id;
    }
    throw http.notConsuls(answer);
  }

  /** Renews a session; false: it is gone for certain. */
  public boolean renew(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Answer answer = http.put("v1/session/renew/" + id, "", deadline);
    if (answer.status() != 404 && !sessions(answer).isEmpty()) {
      return true;
    }
    // A leader that was just elected says so before it has read its log. A consistent read waits.
    if (!sessions(http.get("v1/session/info/" + id, deadline)).isEmpty()) {
      throw StoreException.refused("Consul's leader does not know its sessions yet", null);
    }
    return false;
  }

  /** The sessions that an answer tells of. */
  private List<?> sessions(ConsulHttp.Answer answer) throws StoreException {
    if (answer.status() == 200 && answer.json() instanceof List<?> sessions) {
      return sessions;
    }
    throw http.notConsuls(answer);
  }

  /** The node that a session is of, and with which it ends. */
  public String node(String id, Deadline deadline) throws StoreException {
    List<?> sessions = sessions(http.get("v1/session/info/" + id, deadline));
    if (sessions.size() == 1
        && sessions.get(0) instanceof Map<?, ?> session
        && session.get("Node") instanceof String node
        && !node.isEmpty()) {
      return node;
    }
    throw StoreException.refused("Consul told no node of a session: " + sessions, null);
  }

  /** Ends a session. Should that fail, it ends by its TTL. */
  public void destroy(String id, Deadline deadline) {
    try {
      destroyForCertain(id, deadline);
    } catch (StoreException e) {
      log.debug("Session {} was not destroyed; it ends by its TTL", id, e);
    }
  }

  /** Ends a session, so that no request that is still on its way can use it. */
  public void destroyForCertain(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Answer answer = http.put("v1/session/destroy/" + id, "", deadline);
    if (answer.status() != 200 || !Boolean.TRUE.equals(answer.json())) {
      throw http.notConsuls(answer);
    }
  }
}
