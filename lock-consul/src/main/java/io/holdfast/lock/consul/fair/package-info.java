/**
 * The store: locks with a line, first come, first served. Read
 * {@link io.holdfast.lock.consul.fair.ConsulStore}, then
 * {@link io.holdfast.lock.consul.fair.ConsulTicket}. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.fair;

import org.jspecify.annotations.NullMarked;
