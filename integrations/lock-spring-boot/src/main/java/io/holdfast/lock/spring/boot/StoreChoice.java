package io.holdfast.lock.spring.boot;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/** The choice of the store: that of the property, or else the only one on the class path. */
final class StoreChoice {
  static final String PROPERTY = "holdfast.store";

  private StoreChoice() {}

  /**
   * Returns the store to use.
   *
   * @throws LockConfigurationException there is none, or several, or not the one that was named
   */
  static StoreKind of(Environment environment, ClassLoader loader) {
    List<StoreKind> present = Arrays.stream(StoreKind.values())
        .filter(kind -> kind != StoreKind.MEMORY && kind.isOnClassPath(loader))
        .toList();
    return Binder.get(environment)
        .bind(PROPERTY, StoreKind.class)
        .map(named -> named(named, loader))
        .orElseGet(() -> only(present));
  }

  private static StoreKind named(StoreKind named, ClassLoader loader) {
    if (!named.isOnClassPath(loader)) {
      throw new LockConfigurationException(
          "The property " + PROPERTY + " is " + named.value() + ", and that store is not on the"
              + " class path",
          "add the dependency io.holdfast:" + named.artifact() + ", or change " + PROPERTY);
    }
    return named;
  }

  private static StoreKind only(List<StoreKind> present) {
    if (present.isEmpty()) {
      throw new LockConfigurationException(
          "Holdfast has no store for its locks: none is on the class path, and " + PROPERTY
              + " is not set",
          "add the dependency io.holdfast:lock-jdbc, lock-redis, lock-zookeeper or lock-consul (for"
              + " a test without a server, set " + PROPERTY + "=memory)");
    }
    if (present.size() > 1) {
      throw new LockConfigurationException(
          "Holdfast has several stores to choose from: "
              + present.stream().map(StoreKind::artifact).collect(Collectors.joining(", "))
              + " are on the class path",
          "set " + PROPERTY + " to "
              + present.stream().map(StoreKind::value).collect(Collectors.joining(" or ")));
    }
    return present.get(0);
  }
}
