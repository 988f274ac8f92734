package io.holdfast.lock.torture;

import static io.holdfast.lock.tck.Capability.CALLER_TRANSACTIONS;
import static io.holdfast.lock.tck.Capability.DURABLE;
import static io.holdfast.lock.tck.Capability.FAULTS;
import static io.holdfast.lock.tck.Capability.GUARDED_WRITES;
import static io.holdfast.lock.tck.Capability.READ_WRITE;
import static io.holdfast.lock.tck.Capability.SEMAPHORES;
import static io.holdfast.lock.tck.Capability.SERVER_PAUSE;
import static io.holdfast.lock.tck.Capability.SERVER_RESTART;
import static io.holdfast.lock.tck.Capability.TAP;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Checks which tests of rules {@code dev/verify} ran on each store, by the reports of the modules
 * that were tested before this one.
 */
@EnabledIfSystemProperty(
    named = "gate.reports",
    matches = "true",
    disabledReason = "only dev/verify has tested all stores before")
class GateTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", ".")).resolve("..");

  /** The reports of the stores, each with the capabilities that its fixture does not have. */
  private static final Map<Report, Set<Capability>> MISSING = Map.of(
      new Report("lock-tck", "tck.memory.InMemoryConformanceTest"),
      EnumSet.complementOf(EnumSet.of(TAP, FAULTS, GUARDED_WRITES, SEMAPHORES, READ_WRITE)),
      new Report("lock-jdbc", "jdbc.H2ConformanceTest"),
      Set.of(FAULTS, SERVER_PAUSE, SERVER_RESTART, DURABLE),
      new Report("lock-jdbc", "jdbc.PostgresConformanceTest"),
      Set.of(),
      new Report("lock-jdbc", "jdbc.MySqlConformanceTest"),
      Set.of(),
      new Report("lock-redis", "redis.RedisConformanceTest"),
      Set.of(CALLER_TRANSACTIONS),
      new Report("lock-zookeeper", "zookeeper.ZooKeeperConformanceTest"),
      Set.of(CALLER_TRANSACTIONS),
      new Report("lock-consul", "consul.ConsulConformanceTest"),
      Set.of(SEMAPHORES, CALLER_TRANSACTIONS));

  /** The report of a test class, by its module and its name within our package. */
  private record Report(String module, String test) {
    Path path() {
      return ROOT.resolve(module)
          .resolve("target/surefire-reports/TEST-io.holdfast.lock." + test + ".xml");
    }
  }

  @Test
  void everyTestOfEveryRuleRunsOnEachStoreThatCanBeAsked() throws Exception {
    Map<String, Method> tests = testsOfRules();
    Set<String> runNowhere = new TreeSet<>(tests.keySet());
    for (Map.Entry<Report, Set<Capability>> store : MISSING.entrySet()) {
      Set<String> ran = testsThatRan(store.getKey());
      Set<String> left = new TreeSet<>(tests.keySet());
      left.removeAll(ran);
      Set<String> cannotRun = new TreeSet<>(tests.keySet());
      cannotRun.removeIf(test -> !requires(tests.get(test), store.getValue()));
      assertThat(left).as("not run: %s", store.getKey()).isEqualTo(cannotRun);
      runNowhere.removeAll(ran);
    }
    assertThat(runNowhere).isEmpty();
  }

  /** Returns the tests by chapter and method, such as {@code Naming.aNameIsKept}. */
  private static Map<String, Method> testsOfRules() {
    Map<String, Method> tests = new HashMap<>();
    for (Class<?> chapter : LockConformance.class.getDeclaredClasses()) {
      if (chapter.isAnnotationPresent(Nested.class)) {
        for (Method method : chapter.getSuperclass().getDeclaredMethods()) {
          if (method.isAnnotationPresent(Rule.class)) {
            tests.put(chapter.getName() + "." + method.getName(), method);
          }
        }
      }
    }
    return tests;
  }

  private static boolean requires(Method test, Set<Capability> some) {
    Requires requires = test.getAnnotation(Requires.class);
    return requires != null && Stream.of(requires.value()).anyMatch(some::contains);
  }

  /** Returns the tests that were not skipped. */
  private static Set<String> testsThatRan(Report store) throws Exception {
    Set<String> ran = new TreeSet<>();
    NodeList cases = DocumentBuilderFactory.newDefaultInstance()
        .newDocumentBuilder()
        .parse(store.path().toFile())
        .getElementsByTagName("testcase");
    for (int i = 0; i < cases.getLength(); i++) {
      Element test = (Element) cases.item(i);
      if (test.getElementsByTagName("skipped").getLength() == 0) {
        // A method's parameters are part of the name.
        String method = test.getAttribute("name").replaceFirst("\\(.*", "");
        ran.add(test.getAttribute("classname") + "." + method);
      }
    }
    return ran;
  }
}
