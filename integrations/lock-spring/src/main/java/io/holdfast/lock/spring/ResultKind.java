package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/** The kinds of results that a locked method can have: those whose end is known. */
enum ResultKind {
  /** Complete when the method returns. */
  VALUE,
  /** Complete when the stage is. */
  STAGE;

  /**
   * The types of results whose work goes on after the return, and can't be awaited or is not meant
   * to be.
   */
  private static final Set<String> LATER = Set.of(
      "java.util.concurrent.Flow$Publisher",
      "org.reactivestreams.Publisher",
      "kotlinx.coroutines.flow.Flow",
      "org.springframework.web.context.request.async.DeferredResult",
      "org.springframework.web.context.request.async.WebAsyncTask",
      "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
      "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

  /**
   * Returns the kind of a method's result; throws if its work may end later without telling when.
   */
  static ResultKind of(Place place) {
    Method method = place.method();
    Class<?> type = method.getReturnType();
    if (KotlinDetector.isSuspendingFunction(method)) {
      throw place.invalid(
          "the method is a suspending function, which returns before its work is done",
          "use the lock's own methods there");
    }
    if (type == CompletionStage.class || type == CompletableFuture.class) {
      return STAGE;
    }
    if (isLater(type)) {
      throw place.invalid(
          "the method returns " + type.getSimpleName()
              + ", and its work may be done after the return, without the lock",
          "return a CompletionStage, for which the lock is held to its end, or a plain value");
    }
    return VALUE;
  }

  /** Whether work still goes on for a result that was returned as a plain value. */
  static boolean isAtWork(Object result) {
    return isLater(result.getClass()) && !(result instanceof Future<?> future && future.isDone());
  }

  private static boolean isLater(Class<?> type) {
    return Future.class.isAssignableFrom(type)
        || CompletionStage.class.isAssignableFrom(type)
        || Callable.class.isAssignableFrom(type)
        || BaseStream.class.isAssignableFrom(type)
        || isNamedLater(type)
        || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
  }

  private static boolean isNamedLater(Class<?> type) {
    for (Class<?> at = type; at != null; at = at.getSuperclass()) {
      if (LATER.contains(at.getName())) {
        return true;
      }
    }
    return ClassUtils.getAllInterfacesForClassAsSet(type).stream()
        .anyMatch(each -> LATER.contains(each.getName()));
  }

  /**
   * Returns the result of a call that is skipped; throws if the caller would take it for a result
   * of the method.
   */
  @Nullable
  Object skipped(Place place) {
    ResolvableType type = ResolvableType.forMethodReturnType(place.method(), place.targetClass());
    return this == STAGE
        ? CompletableFuture.completedFuture(nothing(place, type.getGeneric(0).toClass()))
        : nothing(place, type.toClass());
  }

  private static @Nullable Object nothing(Place place, Class<?> type) {
    if (type == Optional.class) {
      return Optional.empty();
    } else if (type == OptionalInt.class) {
      return OptionalInt.empty();
    } else if (type == OptionalLong.class) {
      return OptionalLong.empty();
    } else if (type == OptionalDouble.class) {
      return OptionalDouble.empty();
    } else if (type == void.class || ClassUtils.isPrimitiveWrapper(type)) {
      return null; // Void counts as a wrapper.
    }
    throw place.invalid(
        "whenBusy",
        "SKIP has no " + type.getSimpleName() + " to return that says that nothing was done",
        "return an Optional, or name a busyHandler");
  }
}
