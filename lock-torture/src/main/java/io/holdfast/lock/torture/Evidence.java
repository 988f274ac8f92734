package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Interval;
import java.util.List;
import java.util.Map;

/**
 * All that is known of a schedule once it is over.
 *
 * @param beganAt the clock when it began
 * @param attempts of all workers
 * @param written the logs that are written to under guard, by the number of the name, each in the
 *     order in which the store has it
 * @param faults with the times at which they really were
 * @param unsettled when servers that may lose what they confirmed could do so
 * @param jumpsAhead when the wall clock of a server jumped ahead
 * @param other what was found on the way: names that stayed stuck, what was left behind
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
