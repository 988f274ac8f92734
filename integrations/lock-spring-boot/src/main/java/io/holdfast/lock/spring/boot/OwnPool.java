package io.holdfast.lock.spring.boot;

import com.zaxxer.hikari.HikariDataSource;
import javax.sql.DataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.core.env.Environment;

/** A pool that only the locks use, made with the settings with which Spring Boot makes one. */
final class OwnPool {
  static final String PROPERTY = "holdfast.jdbc.pool-size";

  private OwnPool() {}

  /** @throws LockConfigurationException Spring Boot makes no data source */
  static DataSource open(int size, ConfigurableListableBeanFactory beans, Environment environment) {
    JdbcConnectionDetails details =
        beans.getBeanProvider(JdbcConnectionDetails.class).getIfUnique();
    if (details == null) {
      throw impossible("the application makes its data source itself");
    }
    HikariDataSource pool = DataSourceBuilder.create(beans.getBeanClassLoader())
        .type(HikariDataSource.class)
        .driverClassName(details.getDriverClassName())
        .url(details.getJdbcUrl())
        .username(details.getUsername())
        .password(details.getPassword())
        .build();
    Binder.get(environment).bind("spring.datasource.hikari", Bindable.ofInstance(pool));
    pool.setPoolName("holdfast");
    return Property.apply(PROPERTY, size, valid -> {
      pool.setMaximumPoolSize(valid);
      return pool;
    });
  }

  static LockConfigurationException impossible(String why) {
    return new LockConfigurationException(
        "The property " + PROPERTY + " is set, and no pool can be made, since " + why,
        "leave " + PROPERTY + " out, and name a data source in holdfast.jdbc.data-source");
  }
}
