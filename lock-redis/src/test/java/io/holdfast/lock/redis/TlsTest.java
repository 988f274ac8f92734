package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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
    ExecutorService executor = Executors.newCachedThreadPool();
    try (ManyServers servers = ManyServers.tls(
            RedisContainer.REDIS,
            pem("CERTIFICATE", own.getCertificate("redis").getEncoded()),
            pem("PRIVATE KEY", own.getKey("redis", PASSWORD).getEncoded()));
        RedisClient redis = RedisAccess.client(
            servers.address(0),
            8,
            DefaultJedisClientConfig.builder()
                .sslOptions(trusting(own, folder.resolve("trusted.p12"))));
        LockClient first = client(redis);
        LockClient second = client(redis)) {
      String name = Stores.freshKey().name();
      Lease held = first.get(name).lock();
      Future<Long> next = executor.submit(() -> {
        try (Lease lease = second.get(name).lock()) {
          return lease.token();
        }
      });
      // That of the pool, that of the renewals, and that of the one who waits.
      Stores.await(
          "waits",
          () ->
              redis.exists(Keys.of(RedisLocks.DEFAULT_PREFIX, Stores.key(name)).line()));
      Stores.pause(Duration.ofSeconds(7));
      assertThat(held.isHeld()).isTrue();
      held.close();
      assertThat(next.get(Stores.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isGreaterThan(held.token());
    } finally {
      executor.shutdownNow();
    }
  }

  private static LockClient client(RedisClient redis) {
    return RedisLocks.builder(redis)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(6)))
        .build();
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
