package io.holdfast.lock.model;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Virtual threads whose every step is run by an executor of ours. The JDK has them for its own
 * tests; {@code --add-opens java.base/java.lang=ALL-UNNAMED}, and the same for
 * {@code java.util.concurrent}, lets us at them.
 */
final class VirtualThreads {
  private static final MethodHandle NEW;
  private static final AtomicLong RANDOM_SEEDER;
  private static final Field RANDOM_SEED;
  private static final Field ID;

  static {
    try {
      Method method = Class.forName("java.lang.ThreadBuilders")
          .getDeclaredMethod(
              "newVirtualThread", Executor.class, String.class, int.class, Runnable.class);
      method.setAccessible(true);
      NEW = MethodHandles.lookup()
          .unreflect(method)
          .asType(MethodType.methodType(
              Thread.class, Executor.class, String.class, int.class, Runnable.class));
      Field seeder = ThreadLocalRandom.class.getDeclaredField("seeder");
      seeder.setAccessible(true);
      RANDOM_SEEDER = (AtomicLong) seeder.get(null);
      RANDOM_SEED = Thread.class.getDeclaredField("threadLocalRandomSeed");
      RANDOM_SEED.setAccessible(true);
      ID = Thread.class.getDeclaredField("tid");
      ID.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final long THREAD_ID = 1L << 40;

  private VirtualThreads() {}

  /** All have one id, since a thread's random numbers depend on it. */
  static Thread unstarted(Executor scheduler, String name, Runnable task) {
    try {
      Thread thread = (Thread) NEW.invokeExact(scheduler, name, 0, task);
      ID.setLong(thread, THREAD_ID);
      return thread;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Seeds {@link ThreadLocalRandom} for the calling thread, and those that are new from now on. */
  static void seedRandom(long seed) {
    RANDOM_SEEDER.set(seed);
    seedNextRandom(seed);
  }

  /** Has the calling thread's next random number depend on this, and on nothing else. */
  static void seedNextRandom(long seed) {
    Object unused = ThreadLocalRandom.current(); // Only now it has a seed.
    Thread thread = Thread.currentThread();
    try {
      RANDOM_SEED.setLong(thread, seed - 2 * thread.getId());
    } catch (IllegalAccessException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }
}
