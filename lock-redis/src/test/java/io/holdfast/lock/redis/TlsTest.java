package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
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
    KeyStore own = selfSigned(folder.resolve("keys.p12"));
    try (ManyServers servers = ManyServers.tls(
            pem("CERTIFICATE", own.getCertificate("redis").getEncoded()),
            pem("PRIVATE KEY", own.getKey("redis", PASSWORD).getEncoded()));
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

  /** The JDK's own tool: no library of ours makes certificates. */
  private static KeyStore selfSigned(Path file) throws Exception {
    Process keytool = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-alias",
            "redis",
            "-keyalg",
            "EC",
            "-dname",
            "CN=127.0.0.1",
            "-ext",
            "SAN=ip:127.0.0.1",
            "-validity",
            "2",
            "-storetype",
            "PKCS12",
            "-storepass",
            new String(PASSWORD),
            "-keystore",
            file.toString())
        .redirectErrorStream(true)
        .start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD);
    }
    return store;
  }

  private static SslOptions trusting(KeyStore own, Path file) throws Exception {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("redis", own.getCertificate("redis"));
    try (OutputStream out = Files.newOutputStream(file)) {
      trusted.store(out, PASSWORD);
    }
    return SslOptions.builder()
        .truststore(file.toFile(), PASSWORD)
        .trustStoreType("PKCS12")
        .sslVerifyMode(SslVerifyMode.FULL)
        .build();
  }

  private static String pem(String what, byte[] content) {
    return "-----BEGIN "
        + what
        + "-----\n"
        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
        + "\n-----END "
        + what
        + "-----\n";
  }
}
