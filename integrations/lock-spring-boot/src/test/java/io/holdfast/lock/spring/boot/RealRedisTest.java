package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.SelfSigned;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Spring Boot's connection details of Redis, each kind with the servers that it is for. */
@Tag("nightly")
class RealRedisTest {
  private static final String DATA_REDIS = "spring.data.redis.";

  @Test
  void aSentinelIsAskedWithItsOwnPasswordAndTheServerThatItNamesWithTheOther() {
    try (RedisContainer servers = RedisContainer.sentinel()) {
      ApplicationContextRunner runner = runner()
          .withPropertyValues(
              DATA_REDIS + "sentinel.master=" + RedisContainer.PRIMARY,
              DATA_REDIS + "sentinel.nodes=" + servers.address(1));

      runner
          .withPropertyValues(
              DATA_REDIS + "password=" + RedisContainer.PASSWORD,
              DATA_REDIS + "sentinel.password=" + RedisContainer.SENTINEL_PASSWORD)
          .run(RealStoresTest::excludesTheOther);
      refuses(
          runner.withPropertyValues(
              DATA_REDIS + "password=" + RedisContainer.PASSWORD,
              DATA_REDIS + "sentinel.password=wrong"),
          DATA_REDIS + "sentinel.password");
      refuses(
          runner.withPropertyValues(
              DATA_REDIS + "password=wrong",
              DATA_REDIS + "sentinel.password=" + RedisContainer.SENTINEL_PASSWORD),
          DATA_REDIS + "password");
    }
  }

  @Test
  void aClusterIsFoundByOneOfItsServers() {
    try (RedisContainer servers = RedisContainer.cluster()) {
      ApplicationContextRunner runner =
          runner().withPropertyValues(DATA_REDIS + "cluster.nodes=" + servers.address(1));

      runner
          .withPropertyValues(DATA_REDIS + "password=" + RedisContainer.PASSWORD)
          .run(context -> {
            // Names in slots of all three servers.
            for (int i = 0; i < 10; i++) {
              RealStoresTest.excludesTheOther(context);
            }
          });
      refuses(
          runner.withPropertyValues(DATA_REDIS + "password=wrong"), DATA_REDIS + "cluster.nodes");
    }
  }

  @Test
  void aBundleHasTheCertificatesOfBothSides(@TempDir Path folder) throws Exception {
    SelfSigned own = SelfSigned.make(folder, "dns:localhost");
    String certificate = own.certificatePem();
    String key = own.keyPem();
    try (RedisContainer server = RedisContainer.tls(certificate, key)) {
      ApplicationContextRunner runner = runner()
          .withPropertyValues(
              DATA_REDIS + "ssl.bundle=locks",
              DATA_REDIS + "port=" + server.port(0),
              "spring.ssl.bundle.pem.locks.truststore.certificate=" + certificate,
              "spring.ssl.bundle.pem.locks.keystore.certificate=" + certificate);
      ApplicationContextRunner complete =
          runner.withPropertyValues("spring.ssl.bundle.pem.locks.keystore.private-key=" + key);

      complete
          .withPropertyValues(DATA_REDIS + "host=localhost")
          .run(RealStoresTest::excludesTheOther);
      // The certificate is that of localhost alone.
      refuses(complete.withPropertyValues(DATA_REDIS + "host=127.0.0.1"), "ssl.bundle");
      // Nobody trusts this certificate but for the bundle.
      refuses(
          complete.withPropertyValues(
              DATA_REDIS + "ssl.bundle=", DATA_REDIS + "url=rediss://localhost:" + server.port(0)),
          "ssl.bundle");
    }
  }

  private static ApplicationContextRunner runner() {
    return Runners.plain()
        .withConfiguration(
            AutoConfigurations.of(DataRedisAutoConfiguration.class, SslAutoConfiguration.class))
        .withPropertyValues("holdfast.store=redis");
  }

  /** Asserts that the application does not start, and that the message names the property. */
  private static void refuses(ApplicationContextRunner runner, String property) {
    runner.run(context -> {
      assertThat(context).hasFailed();
      assertThat(refusal(context.getStartupFailure())).hasMessageContaining(property);
    });
  }

  private static Throwable refusal(Throwable failure) {
    Throwable found = failure;
    while (found != null && !(found instanceof LockConfigurationException)) {
      found = found.getCause();
    }
    return found;
  }
}
