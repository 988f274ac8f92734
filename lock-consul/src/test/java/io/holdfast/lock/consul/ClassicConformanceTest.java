package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on keys that others lock as well. */
@Tag("soak")
class ClassicConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return new ClassicFixture(new KitContainer());
  }

  private static final class ClassicFixture extends ConsulFixture {
    ClassicFixture(KitContainer server) {
      super(server);
    }

    @Override
    public LockClientBuilder<?> newClient() {
      return ClassicAccess.builder(client(), address());
    }

    @Override
    public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
      return new TappedBuilder(ClassicAccess.builder(client(), address())::openStore, tap);
    }

    @Override
    public LockClientBuilder<?> newClient(Link link) {
      return ClassicAccess.builder(client(), addressOf(link));
    }

    @Override
    public ChildProcess.Entry childProcess() {
      return new ChildProcess.Entry(ClassicAccessFactory.class, List.of(address()));
    }
  }
}
