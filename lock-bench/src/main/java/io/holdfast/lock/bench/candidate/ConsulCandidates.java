package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.BenchException;
import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.consul.ConsulLocks;
import java.util.List;
import okhttp3.OkHttpClient;
import org.kiwiproject.consul.Consul;
import org.kiwiproject.consul.KeyValueClient;
import org.kiwiproject.consul.model.session.ImmutableSession;

/** The candidates on Consul. */
final class ConsulCandidates {
  private ConsulCandidates() {}

  static List<Candidate> all() {
    return Candidate.list(
        List.of(Candidate.floor(
            "floor", "two transactions", OkHttpClient.class, Scenario.ALL, BareConsul::new)),
        HoldfastClient.withoutSemaphores(
            url -> ConsulLocks.builder(new OkHttpClient(), url), ConsulLocks.Builder::build),
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
      return Mutex.of(
          () -> check(keys.acquireLock(key, session), "taken"),
          () -> check(keys.releaseLock(key, session), "lost"));
    };
  }

  private static void check(boolean done, String otherwise) throws BenchException {
    if (!done) {
      throw new BenchException("consul-client finds the lock " + otherwise, null);
    }
  }
}
