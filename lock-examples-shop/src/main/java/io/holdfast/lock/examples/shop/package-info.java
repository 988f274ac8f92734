/**
 * A Spring Boot application that sells tickets over HTTP. Any number of its instances may run: a
 * lock in the database lets one of them sell tickets of an event at a time.
 */
@NullMarked
package io.holdfast.lock.examples.shop;

import org.jspecify.annotations.NullMarked;
