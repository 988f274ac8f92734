/**
 * Sessions, and the attempts that live in them. Read
 * {@link io.holdfast.lock.consul.session.Attempt} and
 * {@link io.holdfast.lock.consul.session.Session}, then
 * {@link io.holdfast.lock.consul.session.Sessions}, which has those that are shared. What they
 * leave is seen to by {@link io.holdfast.lock.consul.session.Leftovers}. Not exported.
 */
@NullMarked
package io.holdfast.lock.consul.session;

import org.jspecify.annotations.NullMarked;
