package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.ServerContainer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ClientCnxnSocketNetty;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.MountableFile;

/** Through TLS, in which both sides show a certificate. */
@Timeout(120)
class TlsTest {
  private static final int SECURE_PORT = 2281;
  private static final String PASSWORD = "a-password-of-the-tests";
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  @TempDir
  Path folder;

  @Test
  void theFrameworksTlsHoldsForTheLocks() throws Exception {
    ServerContainer.assumeDocker();
    makeCertificate();
    try (GenericContainer<?> server = server()) {
      server.start();
      String address = server.getHost() + ":" + server.getMappedPort(SECURE_PORT);
      try (CuratorFramework plain = framework(address, new ZKClientConfig())) {
        plain.start();
        assertThat(plain.blockUntilConnected(3, TimeUnit.SECONDS))
            .as("a connection without TLS")
            .isFalse();
      }
      try (CuratorFramework framework = Frameworks.start(framework(address, secure()));
          CuratorFramework another = Frameworks.start(framework(address, secure()));
          LockClient client = ZooKeeperLocks.builder(framework).build();
          LockClient other = ZooKeeperLocks.builder(another).build()) {
        Lease lease = client.get("orders/42").tryLock().orElseThrow();
        assertThat(other.get("orders/42").tryLock()).isEmpty();
        lease.verify();
        long token = lease.token();
        lease.close();
        try (Lease next = other.get("orders/42").lockWithin(Duration.ofSeconds(20))) {
          assertThat(next.token()).isGreaterThan(token);
        }
      }
    }
  }

  /** Both sides show the same one, and trust it. */
  private void makeCertificate() throws Exception {
    List<String> keys = List.of("-storetype", "PKCS12", "-keystore", keys().toString());
    List<String> trust = List.of("-storetype", "PKCS12", "-keystore", trusted().toString());
    String certificate = folder.resolve("certificate").toString();
    keytool(
        keys,
        "-genkeypair -keyalg RSA -keysize 2048 -dname CN=localhost -validity 2"
            + " -ext san=dns:localhost,ip:127.0.0.1");
    keytool(keys, "-exportcert -file " + certificate);
    keytool(trust, "-importcert -noprompt -file " + certificate);
  }

  private static void keytool(List<String> store, String arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments.split(" ", -1)));
    command.addAll(store);
    command.addAll(List.of("-alias", "test", "-storepass", PASSWORD));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
  }

  private Path keys() {
    return folder.resolve("keys.p12");
  }

  private Path trusted() {
    return folder.resolve("trusted.p12");
  }

  private GenericContainer<?> server() {
    return new GenericContainer<>("zookeeper:3.9")
        .withExposedPorts(SECURE_PORT)
        .withCopyFileToContainer(MountableFile.forHostPath(keys(), 0644), "/tls/keys.p12")
        .withCopyFileToContainer(MountableFile.forHostPath(trusted(), 0644), "/tls/trusted.p12")
        .withEnv(
            "ZOO_CFG_EXTRA",
            String.join(
                " ",
                "secureClientPort=" + SECURE_PORT,
                "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                "ssl.keyStore.location=/tls/keys.p12",
                "ssl.keyStore.password=" + PASSWORD,
                "ssl.trustStore.location=/tls/trusted.p12",
                "ssl.trustStore.password=" + PASSWORD))
        .waitingFor(Wait.forListeningPort().withStartupTimeout(STARTUP_MAX));
  }

  private ZKClientConfig secure() {
    ZKClientConfig config = new ZKClientConfig();
    try (ClientX509Util names = new ClientX509Util()) {
      config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
      config.setProperty(
          ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, ClientCnxnSocketNetty.class.getName());
      config.setProperty(names.getSslKeystoreLocationProperty(), keys().toString());
      config.setProperty(names.getSslKeystorePasswdProperty(), PASSWORD);
      config.setProperty(names.getSslTruststoreLocationProperty(), trusted().toString());
      config.setProperty(names.getSslTruststorePasswdProperty(), PASSWORD);
      // The certificate says "localhost"; where the containers run on another machine, it is not.
      config.setProperty(names.getSslHostnameVerificationEnabledProperty(), "false");
    }
    return config;
  }

  private static CuratorFramework framework(String address, ZKClientConfig config) {
    return CuratorFrameworkFactory.builder()
        .connectString(address)
        .sessionTimeoutMs((int) Frameworks.SESSION_TIMEOUT.toMillis())
        .connectionTimeoutMs(10_000)
        .retryPolicy(new RetryForever(100))
        .ensembleTracker(false)
        .zkClientConfig(config)
        .build();
  }
}
