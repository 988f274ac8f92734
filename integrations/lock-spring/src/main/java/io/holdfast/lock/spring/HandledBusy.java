package io.holdfast.lock.spring;

import io.holdfast.lock.LockTimeoutException;
import java.util.Arrays;
import java.util.Collections;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/** Lets a bean decide the outcome of a call that finds its lock busy. */
record HandledBusy(Place place, BusyHandler handler) implements LockedMethod.BusyOutcome {

  @Override
  public @Nullable Object of(MethodInvocation call, LockTimeoutException timeout) throws Exception {
    BusyCall busy = new BusyCall(
        timeout.lockName(),
        place.method(),
        Collections.unmodifiableList(Arrays.asList(call.getArguments().clone())),
        timeout);
    Object result = handler.onBusy(busy);
    Class<?> type = place.method().getReturnType();
    if (type != void.class && !ClassUtils.isAssignableValue(type, result)) {
      throw new IllegalStateException(place
          + ": its busyHandler "
          + handler.getClass().getName()
          + " returned "
          + (result == null ? "null" : "a " + result.getClass().getName())
          + " for a "
          + type.getName());
    }
    return type == void.class ? null : result;
  }
}
