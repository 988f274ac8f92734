package io.holdfast.lock.tck.broken;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import io.holdfast.lock.LockClient;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Clients whose leases, or whose own methods, are not what they should be. */
final class ClientDecorator {
  private ClientDecorator() {}

  /** Stands for one call of the real object. */
  interface Call {
    Object proceed(Object... arguments) throws Throwable;
  }

  /** A replacement of a method of the real one. */
  interface Bug {
    Object run(Object real, Object[] arguments, Call call) throws Throwable;
  }

  /** A client all of whose leases have bugs, by the names of the methods that they are in. */
  static UnaryOperator<LockClient> ofLeases(Map<String, Bug> bugs) {
    return client -> (LockClient) changed(client, wrapper(bugs, Map.of()), Map.of());
  }

  /** A client all of whose locks have bugs. */
  static UnaryOperator<LockClient> ofLocks(Map<String, Bug> bugs) {
    return client -> (LockClient) changed(client, wrapper(Map.of(), bugs), Map.of());
  }

  /** A client with bugs of its own. */
  static UnaryOperator<LockClient> ofClient(Map<String, Bug> bugs) {
    return client -> (LockClient) changed(client, UnaryOperator.identity(), bugs);
  }

  private static UnaryOperator<Object> wrapper(
      Map<String, Bug> leaseBugs, Map<String, Bug> lockBugs) {
    return new UnaryOperator<>() {
      @Override
      public Object apply(Object object) {
        if (object instanceof Lease lease) {
          return changed(lease, UnaryOperator.identity(), leaseBugs);
        }
        if (object instanceof Optional<?> optional) {
          return optional.map(this);
        }
        if (object instanceof DistributedLock lock) {
          return changed(lock, this, lockBugs);
        }
        if (object instanceof LeaseAction<?> action) {
          return (LeaseAction<?>) lease -> action.run((Lease) apply(lease));
        }
        if (object instanceof LeaseFunction<?, ?> function) {
          return (LeaseFunction<?, ?>) lease -> function.call((Lease) apply(lease));
        }
        return object;
      }
    };
  }

  private static Object changed(Object real, UnaryOperator<Object> wrapper, Map<String, Bug> bugs) {
    Class<?> type = real instanceof Lease
        ? Lease.class
        : real instanceof DistributedLock ? DistributedLock.class : LockClient.class;
    return Proxy.newProxyInstance(
        type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
          Object[] changed = arguments == null ? new Object[0] : arguments.clone();
          for (int i = 0; i < changed.length; i++) {
            changed[i] = wrapper.apply(changed[i]);
          }
          Bug bug = bugs.get(method.getName());
          Call call = actual -> invoke(real, method, actual);
          return wrapper.apply(bug == null ? call.proceed(changed) : bug.run(real, changed, call));
        });
  }

  private static Object invoke(Object real, Method method, Object[] arguments) throws Throwable {
    try {
      method.setAccessible(true);
      return method.invoke(real, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
