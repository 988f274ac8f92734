package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.SelfSigned;
import io.holdfast.lock.testsupport.ServerContainer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** An agent that speaks nothing but TLS, with a certificate of its own. */
class TlsTest {
  private static final int PORT = 8501;

  private static GenericContainer<?> server;
  private static SelfSigned own;

  @BeforeAll
  static void start(@TempDir Path folder) throws Exception {
    ServerContainer.assumeDocker();
    own = SelfSigned.make(folder);
    server = new GenericContainer<>(Image.CONSUL.name())
        .withExposedPorts(PORT)
        .withCreateContainerCmdModifier(command -> command.withEntrypoint("sh"))
        .withCommand(
            "-c",
            "printf %s '" + own.certificatePem()
                + "' > certificate.pem && printf %s '"
                + own.keyPem()
                + "' > key.pem && exec consul agent -server -bootstrap-expect=1 -data-dir=data"
                + " -client=0.0.0.0 -bind=127.0.0.1"
                + " -hcl='performance { raft_multiplier = 1 }' -hcl='ports { http = -1 https = "
                + PORT
                + " }' -hcl='cert_file = \"certificate.pem\"' -hcl='key_file = \"key.pem\"'")
        .waitingFor(Wait.forLogMessage(".*Synced node info.*", 1)
            .withStartupTimeout(Duration.ofMinutes(2)));
    server.setPortBindings(List.of(Ports.free() + ":" + PORT));
    server.start();
  }

  @AfterAll
  static void stop() {
    if (server != null) {
      server.close();
    }
  }

  private static LockClient client(OkHttpClient users) {
    return client(users, server.getHost(), server.getMappedPort(PORT));
  }

  private static LockClient client(OkHttpClient users, String host, int port) {
    return ConsulLocks.builder(users, "https://" + host + ":" + port)
        .storeTimeout(Duration.ofSeconds(8))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(30)))
        .build();
  }

  @Test
  void everyRequestOfAClientSpeaksTlsAsTheUsersClientDoes() throws Exception {
    ExecutorService threads = Executors.newSingleThreadExecutor();
    Requests requests = new Requests();
    OkHttpClient waiters = trusting().newBuilder().addInterceptor(requests).build();
    try (LockClient holder = client(trusting());
        LockClient waiter = client(waiters)) {
      // The leader registers its node, which sessions need, some time after its election.
      Await.until("sessions can be made", () -> {
        try {
          holder.get("tls/ready").tryLock().orElseThrow().close();
          return true;
        } catch (LockStoreException e) {
          return false;
        }
      });
      Lease held = holder.get("tls").lock();
      Future<Long> next = threads.submit(() -> waiter.get("tls").call(Lease::token));
      Await.until("somebody waits", () -> requests.longPolls() == 1);
      held.verify();
      held.close();
      assertThat(next.get(30, TimeUnit.SECONDS)).isGreaterThan(held.token());
    } finally {
      threads.shutdownNow();
    }
  }

  /** All requests share one HTTP/2 connection. */
  @Test
  void aConnectionThatDiesWithoutASignCostsNeitherALeaseNorAnAcquire() throws Exception {
    Set<Protocol> protocols = ConcurrentHashMap.newKeySet();
    OkHttpClient users = trusting()
        .newBuilder()
        .addNetworkInterceptor(chain -> {
          protocols.add(chain.connection().protocol());
          return chain.proceed(chain.request());
        })
        .build();
    try (FaultProxy proxy = FaultProxy.open(server.getHost(), server.getMappedPort(PORT));
        LockClient client = client(users, "127.0.0.1", proxy.port());
        Lease lease = client.get("tls/held").lock()) {
      assertThat(protocols).containsExactly(Protocol.HTTP_2);
      proxy.silence();
      client.get("tls/other").lock().close();
      lease.verify();
    }
  }

  @Test
  void aCertificateThatTheUsersClientDoesNotTrustIsAnErrorAndNeverBusy() {
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client(new OkHttpClient()).close())
        .havingRootCause()
        .isInstanceOf(java.security.GeneralSecurityException.class);
  }

  private static OkHttpClient trusting() throws Exception {
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(own.trusted());
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    return new OkHttpClient.Builder()
        .sslSocketFactory(tls.getSocketFactory(), (X509TrustManager) trust.getTrustManagers()[0])
        .build();
  }
}
