package io.holdfast.lock.tck.broken;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.Rule;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs tests of one rule on a fixture of choice, in a JUnit engine of its own. */
final class RuleCheck {
  /** The failures of the correct store, by rule. */
  private static final Map<String, Map<String, Throwable>> CORRECT = new ConcurrentHashMap<>();

  private static final int TRIALS_MAX = 3;

  private static final ThreadLocal<Fixture> SUBJECT = new ThreadLocal<>();

  private RuleCheck() {}

  /** The kit as the inner engine runs it, on the thread that started it. */
  static class Subject extends LockConformance {
    @Override
    protected Fixture openFixture() {
      return SUBJECT.get();
    }
  }

  /**
   * Asserts that this test of a rule, as in {@code L-1.2 aTest}, fails on the broken fixture with
   * such a message, and that all tests of the rule pass on the correct one.
   */
  static void assertCaught(String ruleAndTest, String message, Fixture broken) {
    String rule = ruleAndTest.substring(0, ruleAndTest.indexOf(' '));
    String test = ruleAndTest.substring(rule.length() + 1);
    assertThat(CORRECT.computeIfAbsent(rule, same -> failures(new BrokenFixture(), same)))
        .as("failures of the correct store")
        .isEmpty();
    Map<String, Throwable> failures = failures(broken, rule, named(test));
    // A machine that stood still at the wrong moment can hide a bug, or show another first.
    for (int again = 1; !isCaught(failures, test, message) && again < TRIALS_MAX; again++) {
      failures = failures(broken, rule, named(test));
    }
    assertThat(failures).as("failures of the broken one").containsKey(test);
    assertThat(failures.get(test)).isInstanceOf(AssertionError.class).hasMessageContaining(message);
  }

  private static boolean isCaught(Map<String, Throwable> failures, String test, String message) {
    return failures.get(test) instanceof AssertionError failure
        && String.valueOf(failure.getMessage()).contains(message);
  }

  /** Selects one test of a rule: the others would only take time. */
  private static Predicate<Method> named(String test) {
    return method -> method.getName().equals(test);
  }

  /** Returns the failed tests of a rule, with their failures. */
  static Map<String, Throwable> failures(Fixture fixture, String rule) {
    return failures(fixture, rule, method -> true);
  }

  private static Map<String, Throwable> failures(
      Fixture fixture, String rule, Predicate<Method> selection) {
    SUBJECT.set(fixture);
    try {
      List<Event> finished = EngineTestKit.engine("junit-jupiter")
          .selectors(selectClass(Subject.class))
          .filters((PostDiscoveryFilter) descriptor ->
              FilterResult.includedIf(descriptor.getSource().stream()
                  .filter(MethodSource.class::isInstance)
                  .map(source -> ((MethodSource) source).getJavaMethod())
                  .anyMatch(method -> method.getAnnotation(Rule.class) != null
                      && method.getAnnotation(Rule.class).value().equals(rule)
                      && selection.test(method))))
          .execute()
          .testEvents()
          .finished()
          .stream()
          .toList();
      assertThat(finished).as("tests of " + rule).isNotEmpty();
      Map<String, Throwable> failures = new TreeMap<>();
      int passed = 0;
      for (Event event : finished) {
        TestExecutionResult result = event.getRequiredPayload(TestExecutionResult.class);
        String test =
            ((MethodSource) event.getTestDescriptor().getSource().orElseThrow()).getMethodName();
        switch (result.getStatus()) {
          case FAILED -> failures.put(test, result.getThrowable().orElseThrow());
          case SUCCESSFUL -> passed++;
          case ABORTED -> {}
        }
      }
      assertThat(passed + failures.size()).as("tests of " + rule + " that ran").isPositive();
      return failures;
    } finally {
      SUBJECT.remove();
    }
  }
}
