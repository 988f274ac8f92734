package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.spring.Locked;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.EnvironmentAware;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.util.ReflectionUtils;

/**
 * An application that is configured wrongly does not start, and the last that it prints is what is
 * wrong and which property to set.
 */
@ExtendWith(OutputCaptureExtension.class)
class WrongConfigurationTest {
  private static final String[] STORES = {
    "io.holdfast.lock.jdbc",
    "io.holdfast.lock.redis",
    "io.holdfast.lock.zookeeper",
    "io.holdfast.lock.consul"
  };

  @Test
  void noStore(CapturedOutput output) {
    start(App.class, without(STORES));

    assertThat(output)
        .contains("APPLICATION FAILED TO START", "Holdfast has no store")
        .contains("Action:", "Add the dependency io.holdfast:lock-jdbc", "holdfast.store=memory");
  }

  @Test
  void twoStores(CapturedOutput output) {
    start(App.class, without("io.holdfast.lock.zookeeper", "io.holdfast.lock.consul"));

    assertThat(output)
        .contains("lock-jdbc, lock-redis are on the class path")
        .contains("Set holdfast.store to jdbc or redis.");
  }

  @Test
  void aStoreThatIsNotThere(CapturedOutput output) {
    start(App.class, without(STORES), "holdfast.store=consul");

    assertThat(output)
        .contains("Add the dependency io.holdfast:lock-consul, or change holdfast.store");
  }

  @Test
  void anUnknownStore(CapturedOutput output) {
    start(App.class, null, "holdfast.store=etcd");

    assertThat(output)
        .contains("APPLICATION FAILED TO START", "holdfast.store", "\"etcd\"")
        .contains("CONSUL", "JDBC", "MEMORY", "REDIS", "ZOOKEEPER");
  }

  @Test
  void aTtlThatIsTooShort(CapturedOutput output) {
    start(App.class, null, "holdfast.store=memory", "holdfast.ttl=2s");

    assertThat(output)
        .contains("No lock client can be made of these settings: A TTL of PT2S")
        .contains("Change holdfast.ttl (it is PT2S) or holdfast.store-timeout (it is PT5S)");
  }

  @Test
  void aValueThatABuilderRefuses(CapturedOutput output) {
    start(App.class, null, jdbc("refused", "holdfast.jdbc.table=two words"));

    assertThat(output)
        .contains("The property holdfast.jdbc.table can't be used", "'two words'")
        .contains("Correct holdfast.jdbc.table.");
  }

  @Test
  void aMissingTable(CapturedOutput output) {
    start(App.class, null, jdbc("no-table", "holdfast.jdbc.schema=validate"));

    assertThat(output)
        .contains("holdfast_lock can't be used for locks")
        .contains("Run the script for your database, or let the client make its tables with"
            + " holdfast.jdbc.schema=create");
  }

  @Test
  void aWrongPassword(CapturedOutput output) {
    // The first one to come sets the password.
    new DriverManagerDataSource(Runners.url("secret"), "sa", "right");
    start(
        FirstUser.class,
        null,
        jdbc("secret", "spring.datasource.username=sa", "spring.datasource.password=wrong"));

    assertThat(output)
        .contains("Wrong user name or password")
        .contains("Check the data source, bean 'dataSource': spring.datasource.url,"
            + " spring.datasource.username and spring.datasource.password");
  }

  @Test
  void aStoreTimeoutThatIsTooShort(CapturedOutput output) {
    start(App.class, null, jdbc("short", "holdfast.store-timeout=1"));

    assertThat(output)
        .contains("within PT0.001S")
        .contains("If PT0.001S is too short for an answer, raise holdfast.store-timeout (a number"
            + " without a unit is milliseconds)")
        .doesNotContain("spring.datasource.password");
  }

  @Test
  void aPoolThatIsTooSmall(CapturedOutput output) {
    start(
        App.class,
        null,
        jdbc("small", "holdfast.store-timeout=1s", "spring.datasource.hikari.maximum-pool-size=1"));

    assertThat(output)
        .contains("the pool is too small")
        .contains("enlarge the pool of the data source, bean 'dataSource'"
            + " (spring.datasource.hikari.maximum-pool-size, if it is Spring Boot's)")
        .doesNotContain("spring.datasource.password");
  }

  @Test
  void aPoolOfTheirOwnThatIsTooSmall(CapturedOutput output) {
    start(
        App.class,
        null,
        jdbc("own-small", "holdfast.store-timeout=1s", "holdfast.jdbc.pool-size=1"));

    assertThat(output)
        .contains("the pool is too small")
        .contains("raise holdfast.jdbc.pool-size, which is to be at least 2");
  }

  @Test
  void noDataSource(CapturedOutput output) {
    start(
        App.class,
        null,
        "holdfast.store=jdbc",
        "spring.autoconfigure.exclude="
            + "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration");

    assertThat(output).contains("the application has no data source", "Set spring.datasource.url");
  }

  @Test
  void noStarterThatMakesADataSource(CapturedOutput output) {
    start(
        App.class,
        new FilteredClassLoader(DataSourceAutoConfiguration.class),
        "holdfast.store=jdbc",
        "spring.autoconfigure.exclude=" + DataSourceAutoConfiguration.class.getName(),
        "spring.datasource.url=" + Runners.url("no-starter"));

    assertThat(output)
        .contains("the application has no data source")
        .contains("Add the dependency org.springframework.boot:spring-boot-starter-jdbc");
  }

  @Test
  void aMethodThatCannotBeLocked(CapturedOutput output) {
    start(WithAWrongMethod.class, null, "holdfast.store=memory");

    assertThat(output)
        .contains("APPLICATION FAILED TO START", "attribute waitFor of @Locked: '10' has no unit.")
        .contains("Write 10s or 10ms.")
        .doesNotContain("\tat ");
  }

  @ParameterizedTest
  @ValueSource(classes = {FinalClass.class, LockedAsAWhole.class, LockedRecord.class})
  void aFinalClassWithLockedMethods(Class<?> bean, CapturedOutput output) {
    start(WithAFinalClass.class, null, "holdfast.store=memory", "bean=" + bean.getName());

    assertThat(output)
        .contains(
            "APPLICATION FAILED TO START", "Bean 'made', @Locked: its class " + bean.getName())
        .contains("is final, and the proxy that locks its methods would be a subclass.")
        .contains("Make it a class that is not final, and no record")
        .doesNotContain("\tat ");
  }

  @Test
  void aFinalClassThatOthersWantAProxyOf(CapturedOutput output) {
    start(
        WithAFinalClass.class, null, "holdfast.store=memory", "bean=" + NotLocked.class.getName());

    assertThat(output).contains("Could not generate CGLIB subclass").doesNotContain("@Locked:");
  }

  @Test
  void aStoreThatIsNotRunning(CapturedOutput output) {
    start(
        App.class,
        null,
        "holdfast.store=redis",
        "spring.data.redis.port=1",
        "holdfast.store-timeout=1s");

    assertThat(output).contains("gave no usable answer", "Check spring.data.redis.host");
  }

  @Test
  void redisServersOfWhichNobodySaysWhichIsThePrimary(CapturedOutput output) {
    Assumptions.assumeTrue(
        ReflectionUtils.findMethod(DataRedisConnectionDetails.class, "getMasterReplica") != null,
        "Spring Boot 4.0 does not know such servers");
    start(
        App.class,
        null,
        "holdfast.store=redis",
        "spring.data.redis.masterreplica.nodes=localhost:1,localhost:2",
        "holdfast.store-timeout=1s");

    assertThat(output)
        .contains("spring.data.redis.masterreplica.nodes does not say which")
        .contains("Set holdfast.redis.uri to the address of the primary");
  }

  @Test
  void anAddressThatIsNone(CapturedOutput output) {
    start(App.class, null, "holdfast.store=consul", "holdfast.consul.address=nowhere");

    assertThat(output).contains("The property holdfast.consul.address can't be used");
  }

  @Test
  void aRedisAddressThatIsNoneAndItsPasswordIsNotPrinted(CapturedOutput output) {
    start(App.class, null, "holdfast.store=redis", "holdfast.redis.uri=redis://:hu sh@here:6379");

    assertThat(output)
        .contains("Set holdfast.redis.uri to redis://HOST:PORT")
        .doesNotContain("hu sh");
  }

  @Test
  void aRedisAddressWithASecretThatIsNeitherUserNorPassword(CapturedOutput output) {
    start(App.class, null, "holdfast.store=redis", "holdfast.redis.uri=redis://hush@here:6379");

    assertThat(output)
        .contains("The property holdfast.redis.uri has a user or a password")
        .contains("Set holdfast.redis.uri to redis://:PASSWORD@HOST:PORT")
        .doesNotContain("hush");
  }

  @Test
  void aConsulTokenThatIsNoneIsNotPrinted(CapturedOutput output) {
    start(App.class, null, "holdfast.store=consul", "holdfast.consul.token=hush\n");

    assertThat(output)
        .contains("The property holdfast.consul.token can't be used")
        .contains("Correct holdfast.consul.token.")
        .doesNotContain("hush");
  }

  @Test
  void aSessionTimeoutThatIsNone(CapturedOutput output) {
    start(
        App.class,
        null,
        "holdfast.store=zookeeper",
        "holdfast.zookeeper.connect-string=localhost:1",
        "holdfast.zookeeper.session-timeout=-1s");

    assertThat(output)
        .contains("The property holdfast.zookeeper.session-timeout can't be used", "PT-1S")
        .contains("Correct holdfast.zookeeper.session-timeout.");
  }

  @Test
  void anOlderSpringBootIsRefused() {
    assertThatThrownBy(() -> BootVersion.check("3.5.16"))
        .isInstanceOf(LockConfigurationException.class)
        .hasMessageContaining("needs Spring Boot 4.0 or later, and this is 3.5.16");
    BootVersion.check("4.0.8");
    BootVersion.check("10.0.0-M1");
    BootVersion.check(null);
  }

  private static String[] jdbc(String database, String... more) {
    List<String> properties = new ArrayList<>(List.of(more));
    properties.add("holdfast.store=jdbc");
    properties.add("spring.datasource.url=" + Runners.url(database));
    return properties.toArray(String[]::new);
  }

  private static FilteredClassLoader without(String... packages) {
    return new FilteredClassLoader(packages);
  }

  /** Starts an application, which must fail. */
  private static void start(Class<?> config, ClassLoader loader, String... properties) {
    SpringApplication application = new SpringApplication(config);
    application.setWebApplicationType(WebApplicationType.NONE);
    if (loader != null) {
      application.setResourceLoader(new DefaultResourceLoader(loader));
    }
    List<String> arguments = new ArrayList<>(
        List.of("--spring.flyway.enabled=false", "--spring.liquibase.enabled=false"));
    for (String property : properties) {
      arguments.add("--" + property);
    }
    assertThatThrownBy(() -> application.run(arguments.toArray(String[]::new)).close())
        .isInstanceOf(Exception.class);
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class App {}

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class FirstUser {
    @Bean
    static Object first() throws Exception {
      new DriverManagerDataSource(Runners.url("secret"), "sa", "right")
          .getConnection()
          .close();
      return "the first one sets the password";
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class WithAWrongMethod {
    @Bean
    WrongMethod wrongMethod() {
      return new WrongMethod();
    }
  }

  static class WrongMethod {
    @Locked(name = "a", waitFor = "10")
    public void run() {}
  }

  /** A bean of the class that the property {@code bean} names, and one that needs it. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableAsync
  @Import(WithAFinalClass.Named.class)
  static class WithAFinalClass {
    @Bean
    static Object needsIt(@Qualifier("made") Object made) {
      return made.toString();
    }

    static class Named implements ImportBeanDefinitionRegistrar, EnvironmentAware {
      private Environment environment;

      @Override
      public void setEnvironment(Environment environment) {
        this.environment = environment;
      }

      @Override
      public void registerBeanDefinitions(
          AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        registry.registerBeanDefinition(
            "made",
            BeanDefinitionBuilder.genericBeanDefinition(environment.getProperty("bean"))
                .getBeanDefinition());
      }
    }
  }

  static final class FinalClass {
    @Locked("a")
    public void run() {}
  }

  @Locked("a")
  static final class LockedAsAWhole {
    public void run() {}
  }

  record LockedRecord() {
    @Locked("a")
    public void run() {}
  }

  static final class NotLocked {
    @Async
    public void run() {}
  }
}
