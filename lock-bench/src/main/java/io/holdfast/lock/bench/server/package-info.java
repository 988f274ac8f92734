/**
 * The servers in containers, with the counters of what they did. All are
 * {@link io.holdfast.lock.bench.server.BenchServer}s.
 */
@NullMarked
package io.holdfast.lock.bench.server;

import org.jspecify.annotations.NullMarked;
