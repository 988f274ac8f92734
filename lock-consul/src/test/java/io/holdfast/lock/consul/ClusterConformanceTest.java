package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.Timing;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on three servers, through a client agent. */
@Tag("nightly")
class ClusterConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() throws Exception {
    return new ClusterFixture(new ConsulCluster());
  }

  private static final class ClusterFixture extends ConsulAccess implements Fixture {
    private final ConsulCluster cluster;

    ClusterFixture(ConsulCluster cluster) {
      super(cluster.address(ConsulCluster.CLIENT));
      this.cluster = cluster;
    }

    @Override
    public Set<Capability> capabilities() {
      return Set.of(
          Capability.TAP, Capability.LEFTOVERS, Capability.GUARDED_WRITES, Capability.READ_WRITE);
    }

    @Override
    public String whyNot(Capability missing) {
      return "shown on one server; what differs on several has tests of its own";
    }

    @Override
    public Timing timing() {
      return ConsulFixture.TIMING;
    }

    @Override
    public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
      return new TappedBuilder(ConsulLocks.builder(client(), address())::openStore, tap);
    }

    @Override
    public Map<String, Long> leftovers() throws IOException {
      TestHttp http = new TestHttp(address());
      return Map.of("keys", (long) http.keys("holdfast").size(), "sessions", (long)
          http.sessions().size());
    }

    @Override
    public void close() {
      super.close();
      cluster.close();
    }
  }
}
