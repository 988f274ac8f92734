/**
 * Sessions, and the attempts that live in them. Read
 * {@link io.holdfast.lock.consul.session.Attempt} and
 * {@link io.holdfast.lock.consul.session.Session}, then
 * {@link io.holdfast.lock.consul.session.Sessions}, which has those that are shared. What is to be
 * done when they are over is in {@link io.holdfast.lock.consul.session.SessionCleanup}. Not
 * exported.
 */
@NullMarked
package io.holdfast.lock.consul.session;

import org.jspecify.annotations.NullMarked;
