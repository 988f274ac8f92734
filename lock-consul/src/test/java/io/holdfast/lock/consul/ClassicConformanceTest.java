package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.process.ChildProcess;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The rules of docs/SPEC.md on keys that others lock as well. */
@Tag("nightly")
@ExtendWith(ClassicConformanceTest.ButForTheFloor.class)
class ClassicConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return new ClassicFixture(new KitContainer());
  }

  /** A session for each attempt is what the protocol asks for; docs/backends/consul.md says so. */
  static final class ButForTheFloor implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      boolean floor = context
          .getTestMethod()
          .map(method -> method.getAnnotation(Rule.class))
          .filter(rule -> List.of(rule.value()).contains("L-10.7"))
          .isPresent();
      return floor
          ? ConditionEvaluationResult.disabled("five requests, not two: a session for each lease")
          : ConditionEvaluationResult.enabled("a rule like others");
    }
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
