package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.Rule;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * The rules of docs/SPEC.md that {@code dev/verify} runs, by store: read from the reports of the
 * modules that were tested before this one.
 */
@EnabledIfSystemProperty(
    named = "gate.reports",
    matches = "true",
    disabledReason = "only dev/verify has tested all stores before")
class GateTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", ".")).resolve("..");

  /** The rules of semaphores, on stores that have none: L-13.1 is that they say so. */
  private static final Set<String> SEMAPHORES = Set.of(
      "L-13.2", "L-13.3", "L-13.4", "L-13.5", "L-13.6", "L-13.7", "L-13.8", "L-13.9", "L-13.10",
      "L-13.11");

  /** The rule of callers' transactions, on stores that have none. */
  private static final Set<String> TRANSACTIONS = Set.of("L-10.6");

  /** The rules that need another process or a connection, where there is neither. */
  private static final Set<String> IN_ONE_PROCESS =
      Set.of("L-2.5", "L-7.6", "L-9.1", "L-9.2", "L-9.3", "L-9.4", "L-10.5");

  /** The rules that need faults, a tap or a child, none of which the fixture has for H2. */
  private static final Set<String> WITHOUT_FAULTS = Set.of(
      "L-4.3", "L-5.5", "L-6.3", "L-6.9", "L-6.11", "L-7.3", "L-7.4", "L-8.7", "L-9.3", "L-9.4",
      "L-10.3", "L-10.7");

  /** The rules that a store is not asked, since it can't be. */
  private static final Map<Report, Set<String>> NOT_RUN = Map.of(
      new Report("lock-tck", "tck.memory.InMemoryConformanceTest"),
      both(IN_ONE_PROCESS, TRANSACTIONS),
      new Report("lock-jdbc", "jdbc.H2ConformanceTest"),
      both(SEMAPHORES, WITHOUT_FAULTS),
      new Report("lock-jdbc", "jdbc.PostgresConformanceTest"),
      SEMAPHORES,
      new Report("lock-jdbc", "jdbc.MySqlConformanceTest"),
      SEMAPHORES,
      new Report("lock-redis", "redis.RedisConformanceTest"),
      TRANSACTIONS,
      new Report("lock-zookeeper", "zookeeper.ZooKeeperConformanceTest"),
      both(SEMAPHORES, TRANSACTIONS),
      new Report("lock-consul", "consul.ConsulConformanceTest"),
      both(SEMAPHORES, TRANSACTIONS));

  /** The report of a test class, by its module and its name within our package. */
  private record Report(String module, String test) {
    Path path() {
      return ROOT.resolve(module)
          .resolve("target/surefire-reports/TEST-io.holdfast.lock." + test + ".xml");
    }
  }

  @Test
  void everyRuleRunsOnEachStoreButForThoseThatItCannotBeAsked() throws Exception {
    Map<String, String> rules = rulesByTest();
    Map<Report, Set<String>> notRun = new HashMap<>();
    Set<String> runNowhere = new TreeSet<>(rules.values());
    for (Report store : NOT_RUN.keySet()) {
      Set<String> ran = rulesThatRan(store, rules);
      Set<String> left = new TreeSet<>(rules.values());
      left.removeAll(ran);
      notRun.put(store, left);
      runNowhere.removeAll(ran);
    }
    assertThat(notRun).isEqualTo(NOT_RUN);
    assertThat(runNowhere).isEmpty();
  }

  private static Set<String> both(Set<String> some, Set<String> others) {
    return Stream.concat(some.stream(), others.stream()).collect(Collectors.toUnmodifiableSet());
  }

  /** Returns the rules by chapter and method, such as {@code Naming.aNameIsKept}. */
  private static Map<String, String> rulesByTest() {
    Map<String, String> rules = new HashMap<>();
    for (Class<?> chapter : LockConformance.class.getDeclaredClasses()) {
      if (chapter.isAnnotationPresent(Nested.class)) {
        for (Method method : chapter.getSuperclass().getDeclaredMethods()) {
          Rule rule = method.getAnnotation(Rule.class);
          if (rule != null) {
            rules.put(chapter.getName() + "." + method.getName(), rule.value());
          }
        }
      }
    }
    return rules;
  }

  /** Returns the rules of which not every test was skipped. */
  private static Set<String> rulesThatRan(Report store, Map<String, String> rules)
      throws Exception {
    Set<String> ran = new TreeSet<>();
    NodeList cases = DocumentBuilderFactory.newDefaultInstance()
        .newDocumentBuilder()
        .parse(store.path().toFile())
        .getElementsByTagName("testcase");
    for (int i = 0; i < cases.getLength(); i++) {
      Element test = (Element) cases.item(i);
      // A method's parameters are part of the name.
      String method = test.getAttribute("name").replaceFirst("\\(.*", "");
      String rule = rules.get(test.getAttribute("classname") + "." + method);
      if (rule != null && test.getElementsByTagName("skipped").getLength() == 0) {
        ran.add(rule);
      }
    }
    return ran;
  }
}
