package io.holdfast.lock.spring.boot;

import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in ZooKeeper: in the session of the application's framework, or in one of their own. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.ZOOKEEPER)
class ZooKeeperStoreConfiguration {
  private static final String PROPERTY = "holdfast.zookeeper.connect-string";
  private static final int RETRY_BASE_MILLIS = 100;
  private static final int RETRIES_MAX = 3;
  private static final Duration TIMEOUT_MIN = Duration.ofMillis(1);
  private static final Duration TIMEOUT_MAX = Duration.ofMillis(Integer.MAX_VALUE);

  @Bean(LockAutoConfiguration.STORE)
  ZooKeeperSource holdfastStore(
      HoldfastProperties properties,
      ObjectProvider<ZooKeeperConnectionDetails> details,
      ConfigurableListableBeanFactory beans) {
    HoldfastProperties.Zookeeper zookeeper = properties.zookeeper();
    ZooKeeperConnectionDetails connection = details.getIfAvailable();
    String servers = connection == null ? zookeeper.connectString() : connection.getConnectString();
    if (servers != null) {
      int sessionTimeoutMillis = Property.apply(
          "holdfast.zookeeper.session-timeout",
          zookeeper.sessionTimeout(),
          ZooKeeperStoreConfiguration::millis);
      int storeTimeoutMillis = Property.apply(
          "holdfast.store-timeout", properties.storeTimeout(), ZooKeeperStoreConfiguration::millis);
      CuratorFramework own = Property.apply(
          PROPERTY, servers, given -> started(given, sessionTimeoutMillis, storeTimeoutMillis));
      return new ZooKeeperSource(own, true, servers, zookeeper);
    }
    Found<CuratorFramework> only = Found.only(CuratorFramework.class, beans);
    if (only != null) {
      return new ZooKeeperSource(only.bean(), false, only.described(), zookeeper);
    }
    String[] names = beans.getBeanNamesForType(CuratorFramework.class);
    if (names.length == 0) {
      throw new LockConfigurationException(
          "The locks are to be in ZooKeeper, and the application does not say where that is",
          "set " + PROPERTY + ", or make a bean of the type CuratorFramework");
    }
    throw new LockConfigurationException(
        "The locks are to be in ZooKeeper, and the application has several beans of the type"
            + " CuratorFramework: " + String.join(", ", names),
        "make one of these beans @Primary, or set " + PROPERTY);
  }

  private static CuratorFramework started(
      String servers, int sessionTimeoutMillis, int storeTimeoutMillis) {
    CuratorFramework framework = CuratorFrameworkFactory.builder()
        .connectString(servers)
        .sessionTimeoutMs(sessionTimeoutMillis)
        .connectionTimeoutMs(storeTimeoutMillis)
        .retryPolicy(new ExponentialBackoffRetry(RETRY_BASE_MILLIS, RETRIES_MAX))
        .build();
    framework.start();
    return framework;
  }

  private static int millis(Duration duration) {
    if (duration.compareTo(TIMEOUT_MIN) < 0 || duration.compareTo(TIMEOUT_MAX) > 0) {
      throw new IllegalArgumentException(
          "a timeout must be " + TIMEOUT_MIN + " to " + TIMEOUT_MAX + ", was " + duration);
    }
    return (int) duration.toMillis();
  }
}
