package io.holdfast.lock.internal.log;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A logger that never throws. An appender whose disk is full, or a full heap, must not keep a lock
 * taken: the engine goes on as if the line had been written.
 *
 * <p>As in slf4j, a {@code Throwable} in the last place is logged with its stack.
 */
public final class SafeLogger {
  private enum Level {
    DEBUG,
    INFO,
    WARN,
    ERROR
  }

  private final Logger logger;

  private SafeLogger(Logger logger) {
    this.logger = logger;
  }

  /** The logger that is named for a class. */
  public static SafeLogger of(Class<?> type) {
    return new SafeLogger(LoggerFactory.getLogger(type));
  }

  /** See {@link Logger#debug(String, Object...)}. */
  public void debug(String format, @Nullable Object a, @Nullable Object b) {
    log(Level.DEBUG, format, a, b, null);
  }

  /** See {@link Logger#info(String, Object...)}. */
  public void info(String format, @Nullable Object a, @Nullable Object b) {
    log(Level.INFO, format, a, b, null);
  }

  /** See {@link Logger#warn(String, Object...)}. */
  public void warn(String format, @Nullable Object a, @Nullable Object b) {
    log(Level.WARN, format, a, b, null);
  }

  /** See {@link Logger#warn(String, Object...)}. */
  public void warn(String format, @Nullable Object a, @Nullable Object b, @Nullable Object c) {
    log(Level.WARN, format, a, b, c);
  }

  /** See {@link Logger#error(String, Throwable)}. */
  public void error(String message, Throwable cause) {
    log(Level.ERROR, message, cause, null, null);
  }

  private void log(
      Level level, String format, @Nullable Object a, @Nullable Object b, @Nullable Object c) {
    try {
      switch (level) {
        case DEBUG -> {
          if (logger.isDebugEnabled()) {
            logger.debug(format, arguments(a, b, c));
          }
        }
        case INFO -> logger.info(format, arguments(a, b, c));
        case WARN -> logger.warn(format, arguments(a, b, c));
        case ERROR -> logger.error(format, arguments(a, b, c));
      }
    } catch (Throwable e) {
      // There is nowhere left to tell it, and what the caller does next matters more.
    }
  }

  /** A throwable is found in the last place only. */
  private static @Nullable Object[] arguments(
      @Nullable Object a, @Nullable Object b, @Nullable Object c) {
    if (c != null) {
      return new Object[] {a, b, c};
    }
    return b != null ? new Object[] {a, b} : new Object[] {a};
  }
}
