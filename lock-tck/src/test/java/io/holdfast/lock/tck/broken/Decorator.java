package io.holdfast.lock.tck.broken;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.LeaseAction;
import io.holdfast.lock.LeaseFunction;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.LockStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Proxies of stores and clients that replace one method, which is named. */
final class Decorator {
  /** The type of all that can be acquired. */
  @SuppressWarnings("unchecked") // A class literal has no type arguments.
  static final Class<Acquirable<?>> ACQUIRABLE = (Class<Acquirable<?>>) (Class<?>) Acquirable.class;

  private Decorator() {}

  /** A call of the real object. */
  interface Call {
    Object proceed(Object... arguments) throws Throwable;
  }

  /** A replacement for a method. */
  interface Bug<T> {
    Object run(T real, Object[] arguments, Call call) throws Throwable;
  }

  /** A replacement for a store's method that has one argument. */
  interface OfOne<A> {
    Object run(LockStore real, A argument) throws Exception;
  }

  /** A replacement for a store's method that has two arguments. */
  interface OfTwo<A, B> {
    Object run(LockStore real, A first, B second) throws Exception;
  }

  /** A replacement for a store's method that has three arguments. */
  interface OfThree<A, B, C> {
    Object run(LockStore real, A first, B second, C third) throws Exception;
  }

  @SuppressWarnings("unchecked") // The lambda names the types of the method's arguments.
  static <A> UnaryOperator<LockStore> in(String method, OfOne<A> bug) {
    return store ->
        with(LockStore.class, store, method, (real, of, call) -> bug.run(real, (A) of[0]));
  }

  @SuppressWarnings("unchecked") // as above
  static <A, B> UnaryOperator<LockStore> in(String method, OfTwo<A, B> bug) {
    return store -> with(
        LockStore.class, store, method, (real, of, call) -> bug.run(real, (A) of[0], (B) of[1]));
  }

  @SuppressWarnings("unchecked") // as above
  static <A, B, C> UnaryOperator<LockStore> in(String method, OfThree<A, B, C> bug) {
    return store -> with(
        LockStore.class,
        store,
        method,
        (real, of, call) -> bug.run(real, (A) of[0], (B) of[1], (C) of[2]));
  }

  static <T> T with(Class<T> type, T real, String method, Bug<T> bug) {
    return around(
        type,
        real,
        (called, arguments, call) ->
            called.equals(method) ? bug.run(real, arguments, call) : call.proceed(arguments));
  }

  /** A replacement for any method. */
  interface Around {
    Object run(String method, Object[] arguments, Call call) throws Throwable;
  }

  static <T> T around(Class<T> type, T real, Around bug) {
    return type.cast(Proxy.newProxyInstance(
        type.getClassLoader(),
        Stream.concat(Stream.of(type), kinds(type, real)).distinct().toArray(Class<?>[]::new),
        (proxy, method, arguments) -> bug.run(
            method.getName(),
            arguments == null ? new Object[0] : arguments,
            actual -> invoke(real, method, actual))));
  }

  /** Returns the interfaces of an object that extend this type. */
  private static Stream<Class<?>> kinds(Class<?> type, Object real) {
    return Stream.<Class<?>>iterate(
            real.getClass(), each -> each.getSuperclass() != null, Class::getSuperclass)
        .flatMap(each -> Stream.of(each.getInterfaces()))
        .filter(type::isAssignableFrom);
  }

  private static Object invoke(Object real, Method method, Object[] arguments) throws Throwable {
    try {
      method.setAccessible(true);
      return method.invoke(real, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Returns null in place of this exception. */
  static <T> Bug<T> without(Class<? extends Exception> check) {
    return (real, arguments, call) -> {
      try {
        return call.proceed(arguments);
      } catch (Exception e) {
        if (check.isInstance(e)) {
          return null;
        }
        throw e;
      }
    };
  }

  /** Finds a lock busy in place of this exception. */
  static <T> Bug<T> busyInPlaceOf(Class<? extends Exception> check) {
    return (real, arguments, call) -> Objects.requireNonNullElse(
        Decorator.<T>without(check).run(real, arguments, call), Optional.empty());
  }

  /** The work of a thread. */
  interface Body {
    void run() throws Exception;
  }

  static void inBackground(Body body) {
    Thread thread = new Thread(() -> {
      try {
        body.run();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  /** A client all of whose locks, or all of whose leases, have the bug. */
  record OfAll<T>(Class<T> type, String method, Bug<T> bug) implements UnaryOperator<LockClient> {
    @Override
    public LockClient apply(LockClient client) {
      return wrapped(LockClient.class, client);
    }

    private Object changed(Object object) {
      if (object instanceof AnyLease lease) {
        return wrapped(AnyLease.class, lease);
      }
      if (object instanceof Acquirable<?> lock) {
        return wrapped(ACQUIRABLE, lock);
      }
      if (object instanceof DistributedReadWriteLock lock) {
        return wrapped(DistributedReadWriteLock.class, lock);
      }
      if (object instanceof Optional<?> optional) {
        return optional.map(this::changed);
      }
      if (object instanceof LeaseAction<?, ?> action) {
        return ofChanged(action);
      }
      if (object instanceof LeaseFunction<?, ?, ?> function) {
        return resultOfChanged(function);
      }
      return object;
    }

    @SuppressWarnings("unchecked") // A changed lease has the type of the real one.
    private <L extends AnyLease> LeaseAction<L, ?> ofChanged(LeaseAction<L, ?> action) {
      return lease -> action.run((L) changed(lease));
    }

    @SuppressWarnings("unchecked") // as above
    private <L extends AnyLease> LeaseFunction<L, ?, ?> resultOfChanged(
        LeaseFunction<L, ?, ?> function) {
      return lease -> function.call((L) changed(lease));
    }

    private <W> W wrapped(Class<W> wrapper, W real) {
      AtomicReference<W> itself = new AtomicReference<>();
      itself.set(around(wrapper, real, (called, arguments, call) -> {
        Object[] changed = Stream.of(arguments).map(this::changed).toArray();
        Object result = wrapper == type && called.equals(method)
            ? bug.run(type.cast(real), changed, call)
            : call.proceed(changed);
        return result == real ? itself.get() : changed(result);
      }));
      return itself.get();
    }
  }
}
