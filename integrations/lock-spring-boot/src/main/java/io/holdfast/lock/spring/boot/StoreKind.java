package io.holdfast.lock.spring.boot;

import java.util.Locale;
import org.springframework.util.ClassUtils;

/** The stores that {@code holdfast.store} can name. */
enum StoreKind {
  /** A SQL database, through the application's data source. */
  JDBC("io.holdfast.lock.jdbc.JdbcLocks"),

  /** Redis or Valkey. */
  REDIS("io.holdfast.lock.redis.RedisLocks"),

  /** ZooKeeper, through Curator. */
  ZOOKEEPER("io.holdfast.lock.zookeeper.ZooKeeperLocks"),

  /** Consul. */
  CONSUL("io.holdfast.lock.consul.ConsulLocks"),

  /** The memory of this JVM, for tests: does not exclude other processes. */
  MEMORY("io.holdfast.lock.InMemoryLocks");

  private final String className;

  StoreKind(String className) {
    this.className = className;
  }

  boolean isOnClassPath(ClassLoader loader) {
    return ClassUtils.isPresent(className, loader);
  }

  /** Returns the value of the property. */
  String value() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the artifact that has this store. */
  String artifact() {
    return this == MEMORY ? "lock-api" : "lock-" + value();
  }
}
