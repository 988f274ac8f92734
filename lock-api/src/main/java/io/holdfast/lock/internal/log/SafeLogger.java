package io.holdfast.lock.internal.log;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A logger that never throws. An appender whose disk is full, or a full heap, must not keep a lock
 * taken: the engine goes on as if the line had been written. It depends on no other class of the
 * engine, since its first line may be the one about a full heap.
 *
 * <p>As in slf4j, a {@code Throwable} in the last place is logged with its stack.
 */
public final class SafeLogger {
  private final Logger logger;

  private SafeLogger(Logger logger) {
    this.logger = logger;
  }

  /** Returns the logger that is named after a class. */
  public static SafeLogger of(Class<?> type) {
    return new SafeLogger(LoggerFactory.getLogger(type));
  }

  /** See {@link Logger#debug(String, Object...)}. */
  public void debug(String format, @Nullable Object a, @Nullable Object b) {
    try {
      if (logger.isDebugEnabled()) {
        logger.debug(format, arguments(a, b, null));
      }
    } catch (Throwable dropped) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** See {@link Logger#info(String, Object...)}. */
  public void info(String format, @Nullable Object a, @Nullable Object b) {
    try {
      logger.info(format, arguments(a, b, null));
    } catch (Throwable dropped) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** See {@link Logger#warn(String, Object...)}. */
  public void warn(String format, @Nullable Object a, @Nullable Object b) {
    try {
      logger.warn(format, arguments(a, b, null));
    } catch (Throwable dropped) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** See {@link Logger#warn(String, Object...)}. */
  public void warn(String format, @Nullable Object a, @Nullable Object b, @Nullable Object c) {
    try {
      logger.warn(format, arguments(a, b, c));
    } catch (Throwable dropped) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** See {@link Logger#error(String, Throwable)}. */
  public void error(String message, Throwable cause) {
    try {
      logger.error(message, cause);
    } catch (Throwable dropped) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** Puts a throwable last: slf4j looks for it only there. */
  private static @Nullable Object[] arguments(
      @Nullable Object a, @Nullable Object b, @Nullable Object c) {
    if (c != null) {
      return new Object[] {a, b, c};
    }
    return b != null ? new Object[] {a, b} : new Object[] {a};
  }
}
