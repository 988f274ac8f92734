/**
 * Micrometer meters and observations of distributed locks. Start with
 * {@link io.holdfast.lock.micrometer.LockMetrics}.
 */
@NullMarked
package io.holdfast.lock.micrometer;

import org.jspecify.annotations.NullMarked;
