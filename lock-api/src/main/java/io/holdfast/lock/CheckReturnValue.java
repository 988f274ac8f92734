package io.holdfast.lock;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method, or all methods of a type, whose result must be used. Error Prone and IDEs
 * recognise the annotation by its simple name. Not {@code @Documented}, since it is not part of the
 * API.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.METHOD, ElementType.TYPE})
@interface CheckReturnValue {}
