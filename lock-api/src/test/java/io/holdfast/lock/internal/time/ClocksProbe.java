package io.holdfast.lock.internal.time;

import io.holdfast.lock.internal.grant.ActiveGrant;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** The inside of the engine's clocks, for tests in other packages. */
public final class ClocksProbe {
  private static final long GRAIN_NANOS = 1_000_000;
  private static final Field TIME;
  private static final Field LAST;
  private static final Method AHEAD;
  private static final Method SET_BACK;

  static {
    try {
      TIME = ActiveGrant.class.getDeclaredField("time");
      TIME.setAccessible(true);
      LAST = Clocks.class.getDeclaredField("last");
      LAST.setAccessible(true);
      AHEAD = LAST.getType().getDeclaredMethod("aheadNanos");
      AHEAD.setAccessible(true);
      SET_BACK = LAST.getType().getDeclaredMethod("setBackNanos");
      SET_BACK.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private ClocksProbe() {}

  /** The lead of the wall clock that a grant's clocks would read now. Changes nothing. */
  public static long wallAheadNanos(ActiveGrant grant, long machinesWallAheadNanos) {
    try {
      Object last = LAST.get(TIME.get(grant));
      long fallNanos = (long) AHEAD.invoke(last) - machinesWallAheadNanos;
      return machinesWallAheadNanos
          + (long) SET_BACK.invoke(last)
          + (fallNanos > GRAIN_NANOS ? fallNanos : 0);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }
}
