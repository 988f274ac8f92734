/**
 * The ways to lock that are measured: read {@link io.holdfast.lock.bench.candidate.Candidate} and
 * {@link io.holdfast.lock.bench.candidate.Store} first. {@code Bare...} are the floors, programs
 * with the bare driver; the rest are Holdfast and its peers.
 */
@NullMarked
package io.holdfast.lock.bench.candidate;

import org.jspecify.annotations.NullMarked;
