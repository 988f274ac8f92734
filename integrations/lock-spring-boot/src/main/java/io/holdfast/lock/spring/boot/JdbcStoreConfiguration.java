package io.holdfast.lock.spring.boot;

import javax.sql.DataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in the application's database, once Flyway, Liquibase or a script have set that up. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.JDBC)
class JdbcStoreConfiguration {
  private static final String PROPERTY = "holdfast.jdbc.data-source";

  @Bean(LockAutoConfiguration.STORE)
  @DependsOnDatabaseInitialization
  JdbcSource holdfastStore(HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
    String name = properties.jdbc().dataSource();
    Found<DataSource> dataSource = name == null ? only(beans) : named(name, beans);
    return new JdbcSource(dataSource.bean(), dataSource.described(), properties.jdbc());
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
          "set spring.datasource.url, or choose another store with " + StoreChoice.PROPERTY);
    }
    throw new LockConfigurationException(
        "The locks are to be in a SQL database, and the application has several data sources: "
            + String.join(", ", names),
        "set " + PROPERTY + " to one of these names");
  }
}
