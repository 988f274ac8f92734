package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Locks on a Consul whose ACLs deny all that they do not allow. */
class AclTest {
  /** The policy that docs/backends/consul.md shows. */
  private static final String LEAST_POLICY =
      "key_prefix \"holdfast/\" { policy = \"write\" } session_prefix \"\" { policy = \"write\" }";

  private static final String KEYS_ALONE = "key_prefix \"holdfast/\" { policy = \"write\" }";
  private static final String MASTER = UUID.randomUUID().toString();

  private static ServerContainer server;

  @BeforeAll
  static void start() {
    server = ConsulServer.startWithToken(
        MASTER,
        "-hcl=acl { enabled = true default_policy = \"deny\" tokens { master = \""
            + MASTER
            + "\" agent = \""
            + MASTER
            + "\" } }");
    // A new leader creates no ACLs for a moment.
    Await.until("ACLs can be made", () -> {
      try {
        return makePolicy("ready-" + UUID.randomUUID(), KEYS_ALONE).status() == 200;
      } catch (IOException e) {
        return false;
      }
    });
  }

  private static TestHttp.Answer makePolicy(String policy, String rules) throws IOException {
    return new TestHttp(ConsulServer.address(server), MASTER)
        .put("/v1/acl/policy", "{\"Name\":\"" + policy + "\",\"Rules\":" + Json.quote(rules) + "}");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static String token(String rules) throws IOException {
    TestHttp http = new TestHttp(ConsulServer.address(server), MASTER);
    String policy = "test-" + UUID.randomUUID();
    TestHttp.Answer made = makePolicy(policy, rules);
    assertThat(made.status()).as(made.body()).isEqualTo(200);
    TestHttp.Answer token =
        http.put("/v1/acl/token", "{\"Policies\":[{\"Name\":\"" + policy + "\"}]}");
    assertThat(token.status()).as(token.body()).isEqualTo(200);
    return (String) ((Map<?, ?>) Json.parse(token.body())).get("SecretID");
  }

  private static LockClientBuilder<?> client(String token) {
    return ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
        .token(token)
        .storeTimeout(Duration.ofSeconds(8))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(30)));
  }

  @Test
  void theLeastPolicyIsEnoughForEverything() throws Exception {
    String token = token(LEAST_POLICY);
    try (LockClient client = client(token).build();
        LockClient other = client(token).build()) {
      Lease lease = client.get("acl").lock();
      lease.verify();
      assertThat(other.get("acl").tryLock()).isEmpty();
      assertThat(other.get("acl").inspect()).isPresent();
      assertThat(other.list("acl", 10)).hasSize(1);
      lease.close();
      try (Lease next = other.get("acl").lock()) {
        assertThat(next.token()).isGreaterThan(lease.token());
        assertThat(client.get("acl").forceRelease(next.token())).isTrue();
      } catch (io.holdfast.lock.LockLostException e) {
        assertThat(e.token()).isGreaterThan(lease.token());
      }
    }
  }

  @Test
  void aTokenThatMayNotMakeSessionsIsAnErrorThatSaysSo() throws Exception {
    String token = token(KEYS_ALONE);
    try (LockClient client = client(token).build()) {
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> client.get("acl/denied").tryLock())
          .satisfies(e -> assertThat(problem(e)).isEqualTo(ConsulException.Problem.ACL_DENIED));
    }
  }

  @Test
  void aTokenThatMayReadNothingNeverMakesALockBusy() throws Exception {
    String token = token("session_prefix \"\" { policy = \"write\" }");
    assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> {
      try (LockClient client = client(token).build()) {
        var unused = client.get("acl/denied").tryLock();
      }
    });
  }

  private static ConsulException.Problem problem(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ConsulException consul) {
        return consul.problem();
      }
    }
    throw new AssertionError("No answer of Consul among the causes", e);
  }
}
