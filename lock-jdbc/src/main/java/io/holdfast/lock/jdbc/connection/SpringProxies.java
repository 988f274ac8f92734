package io.holdfast.lock.jdbc.connection;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the pool inside Spring's data sources that join the caller's transaction or borrow
 * connections lazily, and refuses those that hide it. They are recognised by name, so that nothing
 * here needs Spring.
 *
 * <p>Only these classes themselves are unwrapped. A subclass or a wrapper in between may change
 * connections (another schema, another user), and must not be bypassed.
 */
final class SpringProxies {
  static final String REMEDY =
      "pass the data source that the proxy wraps, the pool itself: what Holdfast writes must be"
          + " committed at once, and never with your data";

  private static final String SPRING = "org.springframework.jdbc.datasource.";

  /** The proxies whose target is used in their place. */
  private static final Set<String> UNWRAPPED =
      Set.of(SPRING + "TransactionAwareDataSourceProxy", SPRING + "LazyConnectionDataSourceProxy");

  /** Data sources that may hand out a connection that is in the caller's transaction. */
  private static final Set<String> REFUSED = Set.of(
      SPRING + "TransactionAwareDataSourceProxy",
      SPRING + "LazyConnectionDataSourceProxy",
      SPRING + "SmartDataSource");

  /** Whether a class of connections implements the interface by which Spring marks its proxies. */
  private static final ClassValue<Boolean> IS_PROXY = new ClassValue<>() {
    @Override
    protected Boolean computeValue(Class<?> type) {
      return isNamed(type, Set.of(SPRING + "ConnectionProxy"));
    }
  };

  private static final Logger log = LoggerFactory.getLogger(SpringProxies.class);

  private SpringProxies() {}

  /**
   * Returns the data source inside all such proxies, or the given one if it is no such proxy or
   * does not reveal its target.
   */
  static DataSource inside(DataSource given) {
    boolean isProxy = UNWRAPPED.contains(given.getClass().getName());
    DataSource target = isProxy ? target(given) : null;
    return target == null ? given : inside(target);
  }

  /** Calls Spring's public method for the target of a proxy. */
  private static @Nullable DataSource target(DataSource proxy) {
    try {
      return (DataSource) proxy.getClass().getMethod("getTargetDataSource").invoke(proxy);
    } catch (ReflectiveOperationException | RuntimeException e) {
      log.debug("{} does not tell what it wraps", proxy, e);
      return null;
    }
  }

  /** Whether the connection is a proxy of such a data source. */
  static boolean isProxy(Connection connection) {
    return IS_PROXY.get(connection.getClass());
  }

  /**
   * Refuses a data source that may give out connections of transactions.
   *
   * @throws IllegalStateException it is one of {@link #REFUSED}, or has one inside
   */
  static void refuse(DataSource dataSource) {
    if (isNamed(dataSource.getClass(), REFUSED)
        || REFUSED.stream().anyMatch(name -> wraps(dataSource, name))) {
      throw new IllegalStateException("The data source %s is a transaction-aware proxy: %s"
          .formatted(dataSource.getClass().getName(), REMEDY));
    }
  }

  /** Whether the user's wrapper (for metrics or tracing) has such a data source inside. */
  private static boolean wraps(DataSource dataSource, String name) {
    try {
      ClassLoader loader = dataSource.getClass().getClassLoader();
      return dataSource.isWrapperFor(Class.forName(name, false, loader));
    } catch (ClassNotFoundException | LinkageError | SQLException | RuntimeException e) {
      return false; // The class is not on the class path, or the wrapper does not answer.
    }
  }

  /** Whether the type, or one of its supertypes, has one of these names. */
  private static boolean isNamed(@Nullable Class<?> type, Set<String> names) {
    return type != null
        && (names.contains(type.getName())
            || isNamed(type.getSuperclass(), names)
            || Stream.of(type.getInterfaces()).anyMatch(i -> isNamed(i, names)));
  }
}
