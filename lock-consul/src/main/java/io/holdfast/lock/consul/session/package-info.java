/**
 * Sessions, and the attempts that live in them. Read
 * {@link io.holdfast.lock.consul.session.Attempt} and
 * {@link io.holdfast.lock.consul.session.Session}, then
 * {@link io.holdfast.lock.consul.session.Sessions}, which creates and ends the sessions of a
 * client. {@link io.holdfast.lock.consul.session.SessionUpkeep} renews them, and hears of their
 * end; {@link io.holdfast.lock.consul.session.SessionCleanup} clears away what attempts and
 * sessions leave. Not exported.
 *
 * <p>An attempt <em>ends</em> when this client no longer uses it, is <em>freed</em> when its key is
 * certainly over, and is <em>forgotten</em> when nothing is left to do. It is <em>discarded</em> if
 * its request changed nothing. A session is <em>given up</em> when this client stops its upkeep,
 * and <em>settled</em> when Consul has ended it and its keys are dealt with.
 */
@NullMarked
package io.holdfast.lock.consul.session;

import org.jspecify.annotations.NullMarked;
