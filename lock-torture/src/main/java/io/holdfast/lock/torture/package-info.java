/**
 * Torture, which {@code dev/torture} runs: workers, each a JVM with a client of its own, take locks
 * of a real store while a plan of faults, made from a seed, breaks them, their connections and the
 * servers. A judge then looks for two holders at once, tokens that fell, stale writes and names
 * that stayed stuck.
 *
 * <p>Read in this order: {@link io.holdfast.lock.torture.Plan} and its faults,
 * {@link io.holdfast.lock.torture.Worker} and what it notes in a
 * {@link io.holdfast.lock.torture.WorkerLog}, {@link io.holdfast.lock.torture.Schedule}, which runs
 * a plan, {@link io.holdfast.lock.torture.Judge}.
 */
@NullMarked
package io.holdfast.lock.torture;

import org.jspecify.annotations.NullMarked;
