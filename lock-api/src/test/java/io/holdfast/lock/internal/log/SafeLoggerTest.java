package io.holdfast.lock.internal.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SafeLoggerTest {

  /**
   * A class loader that has no memory for what the logger needs besides itself. The first line of a
   * process can be the one about its full heap.
   */
  private static final class FullHeap extends ClassLoader {
    private static final String ROOM = SafeLogger.class.getPackageName();

    private final List<String> refused = new ArrayList<>();
    private boolean full;

    FullHeap() {
      super(SafeLoggerTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(ROOM)) {
        return super.loadClass(name, resolve);
      }
      Class<?> loaded = findLoadedClass(name);
      if (loaded != null) {
        return loaded;
      }
      if (full) {
        refused.add(name);
        throw new OutOfMemoryError("Java heap space");
      }
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] code = in.readAllBytes();
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  @Test
  void aLineForWhichClassesCannotBeLoadedIsDropped() throws Exception {
    FullHeap heap = new FullHeap();
    Class<?> type = heap.loadClass(SafeLogger.class.getName());
    Object logger = type.getMethod("of", Class.class).invoke(null, SafeLoggerTest.class);
    Method error = type.getMethod("error", String.class, Throwable.class);
    Method warn = type.getMethod("warn", String.class, Object.class, Object.class);
    assertThat(type.getClassLoader()).isSameAs(heap);
    heap.full = true;

    assertThatCode(() -> error.invoke(logger, "a line", new OutOfMemoryError()))
        .as("classes that were wanted: %s", heap.refused)
        .doesNotThrowAnyException();
    assertThatCode(() -> warn.invoke(logger, "a line about {} and {}", "this", "that"))
        .as("classes that were wanted: %s", heap.refused)
        .doesNotThrowAnyException();
  }
}
