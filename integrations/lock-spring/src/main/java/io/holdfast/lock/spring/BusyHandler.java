package io.holdfast.lock.spring;

import org.jspecify.annotations.Nullable;

/**
 * A bean that decides the outcome of a call of a {@link Locked} method whose lock is busy.
 *
 * <p>Threads: called on the thread of each such call, so by any number of threads at once.
 */
@FunctionalInterface
public interface BusyHandler {

  /**
   * Returns the result of the call, whose method is not run, or throws its exception.
   *
   * @return a value of the method's type; null if it returns nothing
   * @throws Exception unchecked, or one that the method declares
   */
  @Nullable
  Object onBusy(BusyCall call) throws Exception;
}
