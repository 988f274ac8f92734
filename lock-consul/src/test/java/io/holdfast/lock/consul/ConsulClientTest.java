package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;
import org.kiwiproject.consul.Consul;

/** A program that uses both Holdfast and consul-client. */
class ConsulClientTest {
  @Test
  void bothWorkInOneProgram() throws Exception {
    try (KitContainer server = new KitContainer();
        LockClient client =
            ConsulLocks.builder(new OkHttpClient(), server.address()).build();
        Lease lease = client.get("orders/42").lock()) {
      Consul consul = Consul.builder().withUrl(server.address()).build();
      assertThat(consul.keyValueClient().getValue(ConsulGuard.of(lease).key())).isPresent();
      consul.destroy();
    }
  }
}
