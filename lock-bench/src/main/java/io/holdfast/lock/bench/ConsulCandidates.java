package io.holdfast.lock.bench;

import io.holdfast.lock.consul.ConsulLocks;
import java.util.List;
import okhttp3.OkHttpClient;
import org.kiwiproject.consul.Consul;
import org.kiwiproject.consul.KeyValueClient;
import org.kiwiproject.consul.model.session.ImmutableSession;

/** Who is compared on Consul. */
final class ConsulCandidates {
  private ConsulCandidates() {}

  static List<Candidate> all() {
    return Candidate.list(
        List.of(Candidate.floor(
            "floor", "two transactions", OkHttpClient.class, Scenario.ALL, BareConsul::new)),
        HoldfastClient.candidates(url -> ConsulLocks.builder(new OkHttpClient(), url)),
        Candidate.peer(
            "consul-client",
            "consul-client",
            Consul.class,
            Scenario.FREE,
            ConsulCandidates::consulClient));
  }

  private static Client consulClient(String url) {
    Consul consul = Consul.builder().withUrl(url).build();
    KeyValueClient keys = consul.keyValueClient();
    String session = consul
        .sessionClient()
        .createSession(ImmutableSession.builder().name("bench").build())
        .getId();
    return name -> {
      String key = "bench-consul-client/" + name;
      return new Mutex() {
        @Override
        public void lock() throws BenchException {
          if (!keys.acquireLock(key, session)) {
            throw new BenchException("consul-client finds the lock taken", null);
          }
        }

        @Override
        public void unlock() throws BenchException {
          if (!keys.releaseLock(key, session)) {
            throw new BenchException("consul-client finds the lock lost", null);
          }
        }
      };
    };
  }
}
