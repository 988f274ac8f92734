package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.tck.fault.Ports;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.providers.ClusterConnectionProvider;

/** With which versions of Jedis this works. */
class JedisProvidersTest {

  @Tag("each-jedis")
  @Test
  void theTestsRunOnTheVersionThatTheyAreMeantToRunOn() {
    assertThat(JedisProviders.version()).startsWith(System.getProperty("jedis.expected", "8."));
    assertThatCode(JedisProviders::checkVersion).doesNotThrowAnyException();
  }

  @NullSource
  @ParameterizedTest
  @ValueSource(strings = {"7.4.0", "7.4.1", "7.12.0-beta1", "8.0.2", "8.7", "8-SNAPSHOT", "ours"})
  void whatIsSupportedOrNotKnownIsLetThrough(String version) {
    assertThatCode(() -> JedisProviders.checkVersion(version)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(strings = {"5.2.0", "7.3.0", "7.0.0-beta1", "9.0.0"})
  void whatIsNotSupportedIsRefusedWithWhatIs(String version) {
    assertThatIllegalStateException()
        .isThrownBy(() -> JedisProviders.checkVersion(version))
        .withMessageContaining(version)
        .withMessageContaining("7.4")
        .withMessageContaining("8.x");
  }

  @Tag("each-jedis")
  @Test
  void aClientThatConnectsOtherwiseIsRefused() throws Exception {
    try (RedisClient client = RedisAccess.client(new HostAndPort("127.0.0.1", Ports.free()), 1)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> JedisProviders.of(client, ClusterConnectionProvider.class))
          .withMessageContaining("PooledConnectionProvider");
    }
  }
}
