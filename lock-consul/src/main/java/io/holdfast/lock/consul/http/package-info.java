/**
 * Requests to one Consul agent, and their answers. The protocol of locks is not here. Read
 * {@link io.holdfast.lock.consul.http.ConsulHttp}, then
 * {@link io.holdfast.lock.consul.http.Transaction} and
 * {@link io.holdfast.lock.consul.http.SessionRequests}; {@code Answers} says what an answer means.
 * Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.http;

import org.jspecify.annotations.NullMarked;
