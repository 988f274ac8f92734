/**
 * Holdfast beside what users would pick instead, and beside the bare driver: what {@code dev/bench}
 * runs. {@link io.holdfast.lock.bench.Main} starts the servers and asks
 * {@link io.holdfast.lock.bench.Worker}s, one JVM for each client, for one round after the other.
 */
@NullMarked
package io.holdfast.lock.bench;

import org.jspecify.annotations.NullMarked;
