/**
 * Auto-configuration of a lock client in a Spring Boot application, set up with the properties
 * {@code holdfast.*}. An application injects {@link io.holdfast.lock.LockClient}; of this package
 * it needs at most {@link io.holdfast.lock.spring.boot.LockClientBuilderCustomizer} and
 * {@link io.holdfast.lock.spring.boot.LockGroup}.
 */
@NullMarked
package io.holdfast.lock.spring.boot;

import org.jspecify.annotations.NullMarked;
