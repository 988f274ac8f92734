package io.holdfast.lock.tck;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The capabilities that a fixture must have for this test. If one is missing, the test is skipped,
 * and the report says why.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Requires {
  /** The capabilities, all of which are needed. */
  Capability[] value();
}
