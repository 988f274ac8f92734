package io.holdfast.lock.injection;

import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.ILoggerFactory;
import org.slf4j.LoggerFactory;

/** The log of the engine, down to the debug level: each line is a call out, and goes nowhere. */
final class HookedLog implements AutoCloseable {
  private static final int DEBUG = 10;

  private final PrintStream before = System.err;
  private final Map<Object, Integer> levels = new HashMap<>();

  HookedLog() throws ReflectiveOperationException {
    // The engine's loggers may have been made by earlier tests, with their own level.
    ILoggerFactory factory = LoggerFactory.getILoggerFactory();
    for (Object logger :
        ((Map<?, ?>) field(factory.getClass(), "loggerMap").get(factory)).values()) {
      Field name = field(logger.getClass(), "name");
      if (name.get(logger).toString().startsWith("io.holdfast.lock.internal.")) {
        Field level = field(logger.getClass(), "currentLogLevel");
        levels.put(logger, level.getInt(logger));
        level.setInt(logger, DEBUG);
      }
    }
    System.setErr(new HookedStream(before));
  }

  private static Field field(Class<?> type, String name) throws NoSuchFieldException {
    for (Class<?> owner = type; owner != null; owner = owner.getSuperclass()) {
      for (Field field : owner.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field;
        }
      }
    }
    throw new NoSuchFieldException(type + "." + name);
  }

  @Override
  public void close() throws ReflectiveOperationException {
    System.setErr(before);
    for (Map.Entry<Object, Integer> level : levels.entrySet()) {
      field(level.getKey().getClass(), "currentLogLevel").setInt(level.getKey(), level.getValue());
    }
  }

  private static final class HookedStream extends PrintStream {
    private final PrintStream others;

    HookedStream(PrintStream others) {
      super(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
      this.others = others;
    }

    @Override
    public void println(String line) {
      CallsOut calls = CallsOut.ofThread();
      if (calls == null) {
        others.println(line);
      } else {
        calls.at("Logger");
      }
    }
  }
}
