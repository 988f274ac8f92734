package io.holdfast.lock.tck.rules;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Marks a test during which no other runs, since it disturbs the server or counts what is there.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@ResourceLock(Alone.SERVER)
@interface Alone {
  /** The resource that tests share, and that a test with this annotation locks exclusively. */
  String SERVER = "io.holdfast.lock.tck.server";
}
