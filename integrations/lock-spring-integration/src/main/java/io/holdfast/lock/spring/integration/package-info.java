/**
 * Distributed locks as a lock registry of Spring Integration. Start with
 * {@link io.holdfast.lock.spring.integration.HoldfastLockRegistry}.
 */
@NullMarked
package io.holdfast.lock.spring.integration;

import org.jspecify.annotations.NullMarked;
