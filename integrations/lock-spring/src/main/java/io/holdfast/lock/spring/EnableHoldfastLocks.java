package io.holdfast.lock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;

/**
 * Switches {@link Locked} on, for the beans of the application context whose configuration has this
 * annotation. The context must have a bean of type {@link io.holdfast.lock.LockClient}.
 *
 * <p>{@link Locked} methods are checked when the singletons of the context have been made: a
 * mistake ends the start with an {@link InvalidLockedMethodException}. Beans that use a client are
 * destroyed before it.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Import({HoldfastLocksConfiguration.class, ProxyRegistrar.class})
@SuppressWarnings("exports") // The registrar is for Spring alone.
public @interface EnableHoldfastLocks {

  /** The default of {@link #order()}: inside of almost everything, and outside of transactions. */
  int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 1000;

  /**
   * The place of the lock among the advice of a method. It must be less than the order of
   * transactions, which is {@link Ordered#LOWEST_PRECEDENCE} unless the application sets it:
   * otherwise the start fails, since the lock would be released before the commit.
   */
  int order() default DEFAULT_ORDER;

  /**
   * Whether proxies are subclasses rather than implementations of interfaces, for all advice of the
   * context; a Spring Boot application has this anyway.
   */
  boolean proxyTargetClass() default false;
}
