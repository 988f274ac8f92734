package io.holdfast.lock.internal.queue;

/**
 * The hold of a handle that its user dropped and that was closed just now.
 *
 * @param last whether nobody is left who could close a lease of the grant
 * @param queueLeft whether the queue must be left
 */
public record Dropped(Hold hold, boolean last, boolean queueLeft) {}
