package io.holdfast.lock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * A distributed lock around a method of a Spring bean: the method runs while its caller has the
 * lock. On a class or an interface, it applies to each public method that has none of its own.
 * Switched on by {@link EnableHoldfastLocks}.
 *
 * <pre>{@code
 * @Locked("orders/#{#id}")
 * @Transactional
 * public void ship(long id) { ... }
 * }</pre>
 *
 * <p>The lock is outside of the method's {@code @Transactional}, whatever the order of the two
 * annotations: it is acquired before the transaction begins, and released after the commit. If the
 * caller is in a transaction already, the lock is released before that one commits; a warning says
 * so, once for each method, unless the method takes no part in it ({@code REQUIRES_NEW},
 * {@code NOT_SUPPORTED}).
 *
 * <p>Only calls through the bean's proxy are locked: a call of a bean's own method on {@code this}
 * is not. The method can tell such a call: then
 * {@link io.holdfast.lock.DistributedLock#isHeldByCurrentThread()} of its lock is false. The
 * annotation on a method that no proxy can intercept is refused at start.
 *
 * <p>If the method returns a {@link java.util.concurrent.CompletionStage}, the lock is held until
 * the stage is complete: the caller gets a stage that completes when the lock has been released,
 * and that fails with a {@link io.holdfast.lock.LockLostException} if the lease was lost.
 * Cancelling that stage does not release the lock, since it does not end the work. Such a lease
 * belongs to no thread, so it is never reentrant. All other asynchronous results (of Reactor, a
 * {@code Future}, a lazy stream) are refused at start, since the lock would be released too early.
 *
 * <p>Durations are written as in ISO 8601, or simply: {@code PT10S}, {@code 10s}, {@code 500ms},
 * {@code 1m30s}. They and the name may have property placeholders: {@code ${orders.wait:5s}}.
 *
 * <p>A mistake in the annotation is an {@link InvalidLockedMethodException} at start. At run time,
 * the method also throws what {@link io.holdfast.lock.DistributedLock} lists; in particular a
 * {@link io.holdfast.lock.LockStoreException} if the store gave no usable answer, which is never
 * taken for "busy". A thread that is interrupted while it waits gets an
 * {@link InterruptedException} if the method declares it, or else a
 * {@link LockInterruptedException}; the method did not run.
 */
@Documented
@Inherited
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface Locked {
  /** The name of the lock; the same as {@link #name()}. */
  @AliasFor("name")
  String value() default "";

  /**
   * The name of the lock, a template with expressions of Spring's language over the parameters of
   * the method: {@code orders/#{#id}}, {@code orders/#{#order.id}}, {@code orders/#{#p0}}. Names of
   * parameters need the compiler option {@code -parameters}. The value of an expression is a text,
   * a number, a boolean, an enum (by its name), a UUID or of {@code java.time}: any other has not
   * the same text on every machine, and is refused, at start if its declared type tells. One that
   * is refused at the call, or is null or empty, is an {@link IllegalArgumentException}, and
   * nothing is locked.
   */
  @AliasFor("value")
  String name() default "";

  /** The bean name of the client; by default the only one, or the primary one. */
  String client() default "";

  /** The longest time to wait for the lock; by default, and if zero, it is tried once. */
  String waitFor() default "";

  /** The TTL of the lease; by default that of the client's default options. */
  String ttl() default "";

  /**
   * The time for which the name stays taken at least, even if the method returns earlier; by
   * default that of the client's default options.
   */
  String minHold() default "";

  /**
   * The time after which a renewed lease is lost; by default that of the client's default options.
   */
  String maxHold() default "";

  /**
   * Whether the method only reads: it runs with the read lock of the read-write lock of that name,
   * beside other calls that read, and its lease has no minimum hold. Needs a client of a store with
   * read-write locks ({@link io.holdfast.lock.ReadWriteClient}). A call that reads and calls a
   * method that is locked with the same name for itself is an {@link IllegalStateException}, since
   * it would wait for itself; the other way round it goes on with the lock that it has.
   */
  boolean read() default false;

  /**
   * The number of permits of the semaphore of that name, one of which the method runs with: at most
   * so many calls run at a time, on all machines. 1 to 1,000, the same in all programs; 0: it runs
   * with a lock. Needs a client of a store with semaphores
   * ({@link io.holdfast.lock.SemaphoreClient}). A call of another such method takes another permit.
   */
  int permits() default 0;

  /** Whether the lease is renewed; by default as the client's default options say. */
  LeaseMode mode() default LeaseMode.CLIENT_DEFAULT;

  /** The outcome of a call that finds the lock busy: it stayed taken for {@link #waitFor()}. */
  WhenBusy whenBusy() default WhenBusy.THROW;

  /**
   * The type of the bean that handles a call that finds the lock busy, instead of
   * {@link #whenBusy()}; {@link BusyHandler} itself stands for none.
   */
  Class<? extends BusyHandler> busyHandler() default BusyHandler.class;

  /** The outcome of a call whose lease is lost. */
  WhenLost whenLost() default WhenLost.THROW;

  /**
   * Whether the method's transaction can commit only while the lease is valid, whatever clocks say:
   * a process that was frozen past its TTL can't commit when it wakes up. The commit is refused
   * with a {@link io.holdfast.lock.LockLostException}, and the transaction is rolled back.
   *
   * <p>Needs a client of {@code JdbcLocks}, and a method that is itself {@code @Transactional} on
   * the database that has the lock table. Each transaction of the same transaction manager that
   * begins on the calling thread during the method is guarded, as {@code JdbcGuard} describes it,
   * and its commit refused with an {@link IllegalStateException} if the manager does not expose the
   * transaction's connection. Before a read-only transaction commits, the lease is only checked by
   * the local clocks. What commits without a transaction is not guarded. A call within a
   * transaction that has begun before is an {@link IllegalStateException}, unless the method asks
   * for a new one: nothing could make the older one wait for the lock.
   */
  boolean guard() default false;
}
