package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of a {@link LockClient}, on the store that is on the class path or that
 * {@code holdfast.store} names. The client is connected when the application starts; if that fails,
 * the application does not start. It is closed after everything that runs the application's work. A
 * bean of this type that the application defines itself replaces it.
 */
@AutoConfiguration
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
public final class LockAutoConfiguration {
  static final String STORE = "holdfastStore";
  static final String CLIENT = "lockClient";

  private static final Logger log = LoggerFactory.getLogger(LockAutoConfiguration.class);

  /** A part of the stores' messages if there was no answer in time. */
  private static final Pattern LATE = Pattern.compile("within PT|in time|timed out");

  LockAutoConfiguration() {}

  /**
   * Checks Spring Boot's version first of all, before a bean that the client needs can fail for
   * another reason.
   */
  @Bean
  static BeanFactoryPostProcessor springBootIsNewEnough() {
    return beans -> BootVersion.check(SpringBootVersion.getVersion());
  }

  /** Excludes the client from lazy initialization, since a mistake must show at the start. */
  @Bean
  static LazyInitializationExcludeFilter lockClientIsNotLazy() {
    return LazyInitializationExcludeFilter.forBeanTypes(LockClient.class, ClosedLast.class);
  }

  @Bean
  static ClosedLast lockClientIsClosedLast(ConfigurableListableBeanFactory beans) {
    return new ClosedLast(beans);
  }

  /** The client, unless the application has one of its own. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnMissingBean(LockClient.class)
  @EnableConfigurationProperties(HoldfastProperties.class)
  @Import({
    JdbcStoreConfiguration.class,
    RedisStoreConfiguration.class,
    ZooKeeperStoreConfiguration.class,
    ConsulStoreConfiguration.class,
    MemoryStoreConfiguration.class
  })
  static class Client {
    @Bean(CLIENT)
    LockClient lockClient(
        HoldfastProperties properties,
        @Nullable StoreSource store,
        ObjectProvider<LockListener> listeners,
        ObjectProvider<LockClientBuilderCustomizer> customizers,
        ConfigurableListableBeanFactory beans,
        Environment environment) {
      ClassLoader loader = OnStoreCondition.loader(beans.getBeanClassLoader());
      StoreKind chosen = StoreChoice.of(environment, loader);
      if (store == null) {
        throw BootVersion.noStoreOf(chosen, loader);
      }
      if (store.kind() != chosen) {
        throw new LockConfigurationException(
            "The locks are to be in " + chosen.value() + ", and this application was processed"
                + " ahead of time (AOT) for locks in " + store.kind().value(),
            "set " + StoreChoice.PROPERTY + " to " + chosen.value()
                + " when the application is built, or leave it as it was then");
      }
      LockClientBuilder<?> builder = store.builder();
      String name = ClientName.of(properties, environment);
      if (name != null) {
        Property.apply(ClientName.PROPERTY, name, builder::clientName);
      }
      Property.apply("holdfast.store-timeout", properties.storeTimeout(), builder::storeTimeout);
      builder.defaultOptions(options(properties)).localHandOff(properties.localHandOff());
      listeners.orderedStream().forEach(builder::addListener);
      for (String listener : beans.getBeanNamesForType(LockListener.class)) {
        beans.registerDependentBean(listener, CLIENT);
      }
      customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
      LockClient client = built(builder, store, properties);
      log.info(
          "Locks are in {}; client {}, TTL {}, store timeout {}",
          store.place(),
          name == null ? "named after the host" : "'" + name + "'",
          client.defaultOptions().ttl(),
          properties.storeTimeout());
      return client;
    }

    private static LockOptions options(HoldfastProperties properties) {
      LockOptions renewed = Property.apply("holdfast.ttl", properties.ttl(), LockOptions::renewed);
      return Property.applyIfSet(
          "holdfast.max-hold", properties.maxHold(), renewed, renewed::withMaxHold);
    }

    private static LockClient built(
        LockClientBuilder<?> builder, StoreSource store, HoldfastProperties properties) {
      try {
        return builder.build();
      } catch (IllegalArgumentException e) {
        throw new LockConfigurationException(
            "No lock client can be made of these settings: " + Property.message(e),
            "change holdfast.ttl (it is " + properties.ttl() + ") or holdfast.store-timeout (it is "
                + properties.storeTimeout() + "), or the LockClientBuilderCustomizer that set"
                + " something else",
            e);
      } catch (IllegalStateException e) {
        throw new LockConfigurationException(
            "The locks are to be in " + store.place() + ", which can't be used as it is: "
                + Property.message(e),
            store.whenUnusable(),
            e);
      } catch (LockStoreException e) {
        throw new LockConfigurationException(
            "The locks are to be in " + store.place() + ", which gave no usable answer: "
                + Property.message(e),
            whenNoAnswer(e, store, properties.storeTimeout()),
            e);
      }
    }

    /** Returns what to do; that depends on whether the answer was late. */
    private static String whenNoAnswer(
        LockStoreException e, StoreSource store, Duration storeTimeout) {
      return LATE.matcher(String.valueOf(e.getMessage())).find()
          ? "if " + storeTimeout + " is too short for an answer, raise holdfast.store-timeout (a"
              + " number without a unit is milliseconds); otherwise " + store.whenLate()
          : store.whenUnreachable();
    }
  }
}
