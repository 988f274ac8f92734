package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.ServerContainer;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;
import org.kiwiproject.consul.Consul;

/** A program that uses both Holdfast and consul-client. */
class ConsulClientTest {
  @Test
  void bothWorkInOneProgram() throws Exception {
    try (ServerContainer server = ConsulServer.start();
        LockClient client = ConsulLocks.builder(new OkHttpClient(), ConsulServer.address(server))
            .build();
        Lease lease = client.get("orders/42").lock()) {
      Consul consul = Consul.builder().withUrl(ConsulServer.address(server)).build();
      assertThat(consul.keyValueClient().getValue(ConsulGuard.of(lease).key())).isPresent();
      consul.destroy();
    }
  }
}
