package io.holdfast.lock;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A result that must not be dropped; Error Prone and IDEs know the annotation by its simple name.
 * Not {@code @Documented}: it is no part of the API.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.METHOD, ElementType.TYPE})
@interface CheckReturnValue {}
