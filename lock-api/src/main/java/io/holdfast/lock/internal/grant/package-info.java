/**
 * A grant of the store, from its beginning to its end: its state, and when the store is asked about
 * it. Read the overview in {@link io.holdfast.lock.internal.grant.ActiveGrant}, then
 * {@link io.holdfast.lock.internal.grant.GrantState} and
 * {@link io.holdfast.lock.internal.grant.RenewalSchedule}.
 */
@NullMarked
package io.holdfast.lock.internal.grant;

import org.jspecify.annotations.NullMarked;
