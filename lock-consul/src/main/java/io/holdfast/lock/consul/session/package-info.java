/**
 * Sessions, and the attempts that live in them. Read
 * {@link io.holdfast.lock.consul.session.Attempt} and
 * {@link io.holdfast.lock.consul.session.Session}, then
 * {@link io.holdfast.lock.consul.session.Sessions}, which creates and renews the sessions of a
 * client. {@link io.holdfast.lock.consul.session.SessionCleanup} clears away what attempts and
 * sessions leave. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.session;

import org.jspecify.annotations.NullMarked;
