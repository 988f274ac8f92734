package io.holdfast.lock.jdbc;

import java.util.Set;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spring's proxies around a pool that join its users' transactions or put off its connections, and
 * the pool inside them. They are known by name, so that nothing here needs Spring.
 *
 * <p>Only these classes themselves are seen through: what a subclass or a wrapper in between does
 * with connections (another schema, another user), nobody can tell, and it must not be passed over.
 */
final class SpringProxies {
  private static final Set<String> NAMES = Set.of(
      "org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy",
      "org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy");

  private static final Logger LOG = LoggerFactory.getLogger(SpringProxies.class);

  private SpringProxies() {}

  /** The data source inside all such proxies; itself if it is none, or does not tell. */
  static DataSource inside(DataSource given) {
    DataSource inside = given;
    while (NAMES.contains(inside.getClass().getName())) {
      DataSource target = target(inside);
      if (target == null) {
        return inside;
      }
      inside = target;
    }
    return inside;
  }

  /** Asks the public method that Spring has for it. */
  private static @Nullable DataSource target(DataSource proxy) {
    try {
      return (DataSource) proxy.getClass().getMethod("getTargetDataSource").invoke(proxy);
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("{} does not tell what it wraps", proxy, e);
      return null;
    }
  }
}
