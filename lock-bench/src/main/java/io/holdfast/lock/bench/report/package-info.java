/**
 * The results and what is made of them: {@link io.holdfast.lock.bench.report.Round}s become
 * {@link io.holdfast.lock.bench.report.Result}s, these a
 * {@link io.holdfast.lock.bench.report.Report}, which {@link io.holdfast.lock.bench.report.Kept}
 * stores as JSON, and from that come the {@link io.holdfast.lock.bench.report.Tables}.
 */
@NullMarked
package io.holdfast.lock.bench.report;

import org.jspecify.annotations.NullMarked;
