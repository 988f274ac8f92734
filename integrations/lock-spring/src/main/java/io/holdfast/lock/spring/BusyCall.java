package io.holdfast.lock.spring;

import io.holdfast.lock.LockTimeoutException;
import java.lang.reflect.Method;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call of a {@link Locked} method that found its lock busy.
 *
 * @param lockName the name of the lock
 * @param method the method that was not run
 * @param arguments its arguments
 * @param timeout the exception that would be thrown without a handler
 */
public record BusyCall(
    String lockName,
    Method method,
    List<@Nullable Object> arguments,
    LockTimeoutException timeout) {}
