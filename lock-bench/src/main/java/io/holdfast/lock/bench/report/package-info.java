/**
 * The results: a {@link io.holdfast.lock.bench.report.Report} has the
 * {@link io.holdfast.lock.bench.report.Round}s of a run and is its JSON file. All that readers see
 * comes from them: {@link io.holdfast.lock.bench.report.Result}s, and their
 * {@link io.holdfast.lock.bench.report.Summary}.
 */
@NullMarked
package io.holdfast.lock.bench.report;

import org.jspecify.annotations.NullMarked;
