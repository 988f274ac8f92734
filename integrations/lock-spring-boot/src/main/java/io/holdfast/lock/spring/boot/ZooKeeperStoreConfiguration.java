package io.holdfast.lock.spring.boot;

import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
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

  @Bean(LockAutoConfiguration.STORE)
  ZooKeeperSource holdfastStore(
      HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
    HoldfastProperties.Zookeeper zookeeper = properties.zookeeper();
    String servers = zookeeper.connectString();
    if (servers != null) {
      CuratorFramework own = Property.apply(
          PROPERTY, servers, given -> started(given, zookeeper, properties.storeTimeout()));
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
      String servers, HoldfastProperties.Zookeeper properties, Duration storeTimeout) {
    CuratorFramework framework = CuratorFrameworkFactory.builder()
        .connectString(servers)
        .sessionTimeoutMs(millis(properties.sessionTimeout()))
        .connectionTimeoutMs(millis(storeTimeout))
        .retryPolicy(new ExponentialBackoffRetry(RETRY_BASE_MILLIS, RETRIES_MAX))
        .build();
    framework.start();
    return framework;
  }

  private static int millis(Duration duration) {
    return (int) Math.min(Integer.MAX_VALUE, duration.toMillis());
  }
}
