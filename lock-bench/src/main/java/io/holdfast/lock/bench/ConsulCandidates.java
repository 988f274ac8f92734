package io.holdfast.lock.bench;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.consul.ConsulLocks;
import java.util.EnumSet;
import java.util.List;
import okhttp3.OkHttpClient;
import org.kiwiproject.consul.Consul;
import org.kiwiproject.consul.KeyValueClient;
import org.kiwiproject.consul.model.session.ImmutableSession;

/** Who is compared on Consul. */
final class ConsulCandidates {
  private ConsulCandidates() {}

  static List<Candidate> all() {
    return List.of(
        new Candidate(
            "floor",
            "floor: two transactions",
            Candidate.Role.FLOOR,
            OkHttpClient.class,
            Scenario.ALL_BUT_LEASES,
            BareConsul::new),
        new Candidate(
            "holdfast",
            "Holdfast",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            Scenario.ALL_BUT_LEASES,
            url -> holdfast(url, true)),
        new Candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            url -> holdfast(url, false)),
        new Candidate(
            "consul-client",
            "consul-client",
            Candidate.Role.PEER,
            Consul.class,
            Scenario.FREE,
            ConsulCandidates::consulClient));
  }

  private static Client holdfast(String url, boolean localHandOff) {
    LockClient locks =
        ConsulLocks.builder(new OkHttpClient(), url).localHandOff(localHandOff).build();
    return new HoldfastClient(locks);
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
