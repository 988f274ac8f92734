package io.holdfast.lock.tck;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.tck.broken.BrokenFixture;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Checks that docs/SPEC.md and the kit have the same rules, and wrong stores that break them. */
class SpecTest {
  private static final Path MODULE = Path.of(System.getProperty("basedir", "."));
  private static final Path SPEC = MODULE.resolve("../docs/SPEC.md");
  private static final Path BROKEN = MODULE.resolve("src/test/java/io/holdfast/lock/tck/broken");
  private static final Pattern ROW =
      Pattern.compile("\\| <a id=\"(l-[0-9.]+)\"></a>(L-[0-9.]+) \\| ([^|]+) \\| ([^|]*)\\|");

  /** A literal with a rule and one of its tests. */
  private static final Pattern TEST = Pattern.compile("\"(L-[0-9.]+ \\w+)\"");

  private final Set<String> tested = new TreeSet<>();
  private final Set<String> notInTheKit = new TreeSet<>();
  private final Set<String> numbers = new TreeSet<>();

  SpecTest() throws IOException {
    for (String line : Files.readAllLines(SPEC)) {
      if (!line.contains("<a id=")) {
        continue;
      }
      Matcher row = ROW.matcher(line);
      assertThat(row.matches()).as("this is a row of a rule: %s", line).isTrue();
      assertThat(row.group(1)).isEqualToIgnoringCase(row.group(2));
      assertThat(numbers.add(row.group(2))).as("%s is there once", row.group(2)).isTrue();
      assertThat(row.group(3)).as("the binding sentence of %s", row.group(2)).endsWith(".");
      (line.contains("*Not in the kit:*") ? notInTheKit : tested).add(row.group(2));
    }
  }

  @Test
  void everyRuleHasATestAndEveryTestARule() {
    assertThat(rulesOfTheKit()).isEqualTo(tested);
  }

  @Test
  void thereAreRules() {
    assertThat(tested).hasSizeGreaterThan(70);
    assertThat(notInTheKit).hasSizeLessThan(10);
  }

  @Test
  void everyTestOfTheKitNamesItsRule() {
    for (Class<?> chapter : chapters()) {
      for (Method method : chapter.getSuperclass().getDeclaredMethods()) {
        if (method.isAnnotationPresent(Test.class)) {
          assertThat(method.isAnnotationPresent(Rule.class))
              .as("@Rule of %s", method)
              .isTrue();
        }
      }
    }
  }

  @Test
  void everyRuleHasAWrongStore() throws IOException {
    Set<Capability> capabilities = new BrokenFixture().capabilities();
    Set<String> tests = new TreeSet<>();
    Set<String> rules = new TreeSet<>();
    for (Method method : testsOfTheKit()) {
      String rule = method.getAnnotation(Rule.class).value();
      Requires requires = method.getAnnotation(Requires.class);
      tests.add(rule + " " + method.getName());
      if (requires == null || capabilities.containsAll(List.of(requires.value()))) {
        rules.add(rule);
      }
    }
    Set<String> failing = testsThatMustFail();
    assertThat(failing.stream().filter(test -> !tests.contains(test)))
        .as("what must fail on a wrong store, and is no test of the kit")
        .isEmpty();
    failing.forEach(test -> rules.remove(test.substring(0, test.indexOf(' '))));
    assertThat(rules)
        .as("rules that can be tested in memory, and that no wrong store breaks")
        .isEmpty();
  }

  /** Returns the tests that wrong stores are made for, as in {@code L-1.2 aTest}. */
  private static Set<String> testsThatMustFail() throws IOException {
    Set<String> tests = new TreeSet<>();
    try (DirectoryStream<Path> sources = Files.newDirectoryStream(BROKEN, "*.java")) {
      for (Path source : sources) {
        // A literal may go on in the next line.
        String text = Files.readString(source).replaceAll("\"\\s*\\+\\s*\"", "");
        TEST.matcher(text).results().forEach(literal -> tests.add(literal.group(1)));
      }
    }
    return tests;
  }

  private static Set<String> rulesOfTheKit() {
    Set<String> rules = new TreeSet<>();
    for (Method method : testsOfTheKit()) {
      rules.add(method.getAnnotation(Rule.class).value());
    }
    return rules;
  }

  private static List<Method> testsOfTheKit() {
    List<Method> tests = new ArrayList<>();
    for (Class<?> chapter : chapters()) {
      for (Method method : chapter.getSuperclass().getDeclaredMethods()) {
        if (method.isAnnotationPresent(Rule.class)) {
          tests.add(method);
        }
      }
    }
    return tests;
  }

  private static Iterable<Class<?>> chapters() {
    return Arrays.stream(LockConformance.class.getDeclaredClasses())
        .filter(chapter -> chapter.isAnnotationPresent(Nested.class))
        .toList();
  }
}
