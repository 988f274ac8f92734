/**
 * The benchmarks that {@code dev/bench} runs: Holdfast compared with the alternatives that users
 * have, and with the bare driver. {@link io.holdfast.lock.bench.Main} starts the servers and gives
 * tasks to {@link io.holdfast.lock.bench.Worker}s, one JVM for each client, round by round.
 */
@NullMarked
package io.holdfast.lock.bench;

import org.jspecify.annotations.NullMarked;
