/**
 * The scenarios, and what the parent and the workers say to each other about them: read
 * {@link io.holdfast.lock.bench.scenario.Scenario} first, then
 * {@link io.holdfast.lock.bench.scenario.Task} and {@link io.holdfast.lock.bench.scenario.Sample}.
 */
@NullMarked
package io.holdfast.lock.bench.scenario;

import org.jspecify.annotations.NullMarked;
