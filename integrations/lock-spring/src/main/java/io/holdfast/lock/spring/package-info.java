/**
 * Distributed locks around the methods of Spring beans. Start with
 * {@link io.holdfast.lock.spring.Locked}.
 */
@NullMarked
package io.holdfast.lock.spring;

import org.jspecify.annotations.NullMarked;
