/**
 * Locks that are shared with {@code consul lock}: one key for each lock, without a line, and a
 * session for each attempt. Read {@link io.holdfast.lock.consul.classic.ClassicStore}. Not
 * exported.
 */
@NullMarked
package io.holdfast.lock.consul.classic;

import org.jspecify.annotations.NullMarked;
