package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.SelfSigned;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;

/** A server that speaks nothing but TLS, with a certificate of its own. */
class TlsTest {
  private static final char[] PASSWORD = "of the test".toCharArray();

  @Test
  void everyConnectionOfAClientSpeaksTls(@TempDir Path folder) throws Exception {
    SelfSigned own = SelfSigned.make(folder);
    try (ManyServers servers = ManyServers.tls(own.certificatePem(), own.keyPem());
        RedisClient redis = RedisAccess.client(
            servers.address(0),
            8,
            DefaultJedisClientConfig.builder()
                .sslOptions(trusting(own, folder.resolve("trusted.p12"))));
        LockStore store = Stores.open(redis)) {
      assertThat(redis.ping()).isEqualTo("PONG");
      // That of the pool, that of those who wait, and that of the renewals.
      LockKey key = Claims.freshKey();
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Stores.Waiter waiter = Stores.Waiter.join(store, key);
      Await.until("hears", () -> waiter.woken().drainPermits() > 0);
      assertThat(store.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("told", () -> waiter.woken().drainPermits() > 0);
      assertThat(waiter.awaitGrant().number()).isGreaterThan(held.number());
    }
  }

  private static SslOptions trusting(SelfSigned own, Path file) throws Exception {
    try (OutputStream out = Files.newOutputStream(file)) {
      own.trusted().store(out, PASSWORD);
    }
    return SslOptions.builder()
        .truststore(file.toFile(), PASSWORD)
        .trustStoreType("PKCS12")
        .sslVerifyMode(SslVerifyMode.FULL)
        .build();
  }
}
