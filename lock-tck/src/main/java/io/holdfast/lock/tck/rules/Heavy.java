package io.holdfast.lock.tck.rules;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Marks a test that keeps the machine busy; no two of these run at a time. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@ResourceLock("io.holdfast.lock.tck.machine")
@interface Heavy {}
