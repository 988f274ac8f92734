/**
 * Requests to one Consul agent, and what they carry; nothing here knows of locks. Read
 * {@link io.holdfast.lock.consul.http.ConsulHttp}, then
 * {@link io.holdfast.lock.consul.http.Transaction} and
 * {@link io.holdfast.lock.consul.http.SessionRequests}. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.http;

import org.jspecify.annotations.NullMarked;
