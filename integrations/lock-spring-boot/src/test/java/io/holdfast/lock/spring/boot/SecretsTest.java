package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.mock.env.MockEnvironment;

/** Passwords and tokens are in no text that a log or a debugger may show. */
class SecretsTest {
  private static final String SECRET = "hush";

  private final HoldfastProperties properties = Binder.get(new MockEnvironment()
          .withProperty("holdfast.redis.uri", "redis://:" + SECRET + "@here:6379")
          .withProperty("holdfast.consul.token", SECRET))
      .bind("holdfast", HoldfastProperties.class)
      .get();

  @Test
  void theProperties() {
    assertThat(properties.redis().uri()).contains(SECRET);
    assertThat(properties.consul().token()).isEqualTo(SECRET);
    assertThat(properties.toString()).contains("localhost:8500").doesNotContain(SECRET);
  }

  @Test
  void redis() {
    RedisUri uri = new RedisUri(String.valueOf(properties.redis().uri()), Duration.ofSeconds(1));
    try (RedisSource source = new RedisSource(
        uri.connect(), true, uri.place(), uri.whenUnreachable(), properties.redis())) {
      assertThat(source.toString()).contains("here:6379").doesNotContain(SECRET);
      assertThat(uri.toString()).doesNotContain(SECRET);
    }
  }

  @Test
  void consul() {
    ConsulSource source =
        new ConsulSource(new OkHttpClient(), properties.consul().address(), properties.consul());
    assertThat(source.toString()).contains("localhost:8500").doesNotContain(SECRET);
  }
}
