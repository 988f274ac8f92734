package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Interval;
import java.util.List;
import java.util.Map;

/**
 * All that is known of a schedule once it is over.
 *
 * @param beganAt the clock when it began
 * @param attempts the attempts of all workers
 * @param written the logs of guarded writes by the number of the name, in the store's order
 * @param faults the faults, with their real times
 * @param unsettled when the servers could lose what they had confirmed
 * @param jumpsAhead when the wall clock of a server jumped ahead
 * @param other findings during the schedule: names that stayed stuck, leftovers
 */
record Evidence(
    StoreKind store,
    long beganAt,
    List<Attempt> attempts,
    Map<Integer, List<Written>> written,
    List<Happened> faults,
    List<Interval> unsettled,
    List<Interval> jumpsAhead,
    List<Finding> other) {
  /** A fault as it happened. */
  record Happened(Fault fault, long beganAt, long endedAt) {}
}
