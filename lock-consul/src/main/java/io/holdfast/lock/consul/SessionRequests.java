package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is asked of Consul about sessions. */
final class SessionRequests {
  private static final Logger log = LoggerFactory.getLogger(SessionRequests.class);

  private final ConsulHttp http;
  private final String clientName;

  SessionRequests(ConsulHttp http, String clientName) {
    this.http = http;
    this.clientName = clientName;
  }

  /**
   * Makes a session whose end deletes its keys.
   *
   * @param lockDelay for how long nobody may lock a key that it had when it ended
   * @return its id
   */
  String create(long ttlSeconds, Duration lockDelay, Deadline deadline) throws StoreException {
    // An empty list of checks, or the health of the agent's node would end it.
    String body = "{\"Name\":"
        + Json.quote("holdfast " + clientName)
        + ",\"TTL\":\""
        + ttlSeconds
        + "s\",\"Behavior\":\"delete\",\"LockDelay\":\""
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
    try {
      if (answer.status() == 200
          && Json.parse(answer.body()) instanceof Map<?, ?> json
          && json.get("ID") instanceof String id) {
        return id;
      }
    } catch (IllegalArgumentException e) {
      throw StoreException.unanswered("Consul's answer can't be read: " + e.getMessage(), e);
    }
    throw StoreException.unanswered(
        "Consul made no session, it answered " + answer.status() + ": " + answer.body(), null);
  }

  /** Renews a session; false: it is gone for certain. */
  boolean renew(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Answer answer = http.put("v1/session/renew/" + id, "", deadline);
    if (answer.status() != 404) {
      return true;
    }
    // A leader that was just elected says so before it has read its log. A consistent read waits.
    ConsulHttp.Answer info = http.get("v1/session/info/" + id, deadline);
    if (info.status() == 200 && info.body().contains(id)) {
      throw StoreException.refused("Consul's leader does not know its sessions yet", null);
    }
    return false;
  }

  /** Ends a session. Should that fail, it ends by its TTL. */
  void destroy(String id, Deadline deadline) {
    try {
      destroyForCertain(id, deadline);
    } catch (StoreException e) {
      log.debug("Session {} was not destroyed; it ends by its TTL", id, e);
    }
  }

  /** Ends a session, so that no request that is still on its way can use it. */
  void destroyForCertain(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Answer unused = http.put("v1/session/destroy/" + id, "", deadline);
  }
}
