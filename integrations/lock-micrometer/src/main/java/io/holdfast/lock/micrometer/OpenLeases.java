package io.holdfast.lock.micrometer;

import java.time.Duration;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;

/** The leases of one listener that are not over yet. */
final class OpenLeases {
  private static final int LOST_EARLY_MAX = 100;

  private final Map<LeaseId, OpenLease> open = new ConcurrentHashMap<>();

  /**
   * Leases whose loss was reported before their beginning, which another thread is about to report.
   */
  private final Deque<LeaseId> lostEarly = new ConcurrentLinkedDeque<>();

  void begin(LeaseId id, OpenLease lease) {
    open.put(id, lease);
    if (!lostEarly.isEmpty() && lostEarly.remove(id)) {
      endLost(id);
    }
  }

  void released(LeaseId id, Duration held, Outcome outcome) {
    OpenLease lease = open.remove(id);
    if (lease != null) {
      lease.end(outcome, held);
    }
  }

  void lost(LeaseId id) {
    if (endLost(id)) {
      return;
    }
    lostEarly.add(id);
    if (endLost(id)) { // It began in between.
      lostEarly.remove(id);
    } else if (lostEarly.size() > LOST_EARLY_MAX) {
      lostEarly.poll();
    }
  }

  private boolean endLost(LeaseId id) {
    OpenLease lease = open.remove(id);
    if (lease == null) {
      return false;
    }
    lease.lost();
    return true;
  }

  void note(LeaseId id, String event) {
    OpenLease lease = open.get(id);
    if (lease != null) {
      lease.note(event);
    }
  }
}
