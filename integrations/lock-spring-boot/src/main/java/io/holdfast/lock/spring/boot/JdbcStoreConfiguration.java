package io.holdfast.lock.spring.boot;

import javax.sql.DataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/** Locks in the application's database, once Flyway, Liquibase or a script has set it up. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.JDBC)
class JdbcStoreConfiguration {
  private static final String PROPERTY = "holdfast.jdbc.data-source";

  @Bean(LockAutoConfiguration.STORE)
  @DependsOnDatabaseInitialization
  JdbcSource holdfastStore(
      HoldfastProperties properties,
      ConfigurableListableBeanFactory beans,
      Environment environment) {
    HoldfastProperties.Jdbc jdbc = properties.jdbc();
    Integer poolSize = jdbc.poolSize();
    if (poolSize != null) {
      return new JdbcSource(ownPool(poolSize, beans, environment), true, "a pool of its own", jdbc);
    }
    String name = jdbc.dataSource();
    Found<DataSource> dataSource = name == null ? only(beans) : named(name, beans);
    return new JdbcSource(dataSource.bean(), false, dataSource.described(), jdbc);
  }

  private static DataSource ownPool(
      int size, ConfigurableListableBeanFactory beans, Environment environment) {
    if (!canMakeDataSources(beans)
        || !ClassUtils.isPresent(
            "com.zaxxer.hikari.HikariDataSource", beans.getBeanClassLoader())) {
      throw OwnPool.impossible("spring-boot-starter-jdbc is not on the class path");
    }
    return OwnPool.open(size, beans, environment);
  }

  private static boolean canMakeDataSources(ConfigurableListableBeanFactory beans) {
    return ClassUtils.isPresent(
        "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
        beans.getBeanClassLoader());
  }

  private static Found<DataSource> named(String name, ConfigurableListableBeanFactory beans) {
    if (!beans.containsBean(name)) {
      throw new LockConfigurationException(
          "The property " + PROPERTY + " is '" + name + "', and there is no bean of that name",
          "set " + PROPERTY + " to the name of a data source's bean");
    }
    beans.registerDependentBean(name, LockAutoConfiguration.STORE);
    return new Found<>(beans.getBean(name, DataSource.class), name);
  }

  private static Found<DataSource> only(ConfigurableListableBeanFactory beans) {
    Found<DataSource> only = Found.only(DataSource.class, beans);
    if (only != null) {
      return only;
    }
    String[] names = beans.getBeanNamesForType(DataSource.class);
    if (names.length == 0) {
      throw new LockConfigurationException(
          "The locks are to be in a SQL database, and the application has no data source",
          (canMakeDataSources(beans)
                  ? "set spring.datasource.url"
                  : "add the dependency org.springframework.boot:spring-boot-starter-jdbc, which makes"
                      + " one of spring.datasource.url")
              + ", or choose another store with "
              + StoreChoice.PROPERTY);
    }
    throw new LockConfigurationException(
        "The locks are to be in a SQL database, and the application has several data sources: "
            + String.join(", ", names),
        "set " + PROPERTY + " to one of these names");
  }
}
