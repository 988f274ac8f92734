package io.holdfast.lock.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Checks that docs/SPEC.md and the kit have the same rules. */
class SpecTest {
  private static final Path SPEC =
      Path.of(System.getProperty("basedir", "."), "..", "docs", "SPEC.md");
  private static final Pattern ROW =
      Pattern.compile("\\| <a id=\"(l-[0-9.]+)\"></a>(L-[0-9.]+) \\| ([^|]+) \\| ([^|]*)\\|");

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

  private static Set<String> rulesOfTheKit() {
    Set<String> rules = new TreeSet<>();
    for (Class<?> chapter : chapters()) {
      for (Method method : chapter.getSuperclass().getDeclaredMethods()) {
        if (method.isAnnotationPresent(Rule.class)) {
          rules.add(method.getAnnotation(Rule.class).value());
        }
      }
    }
    return rules;
  }

  private static Iterable<Class<?>> chapters() {
    return Arrays.stream(LockConformance.class.getDeclaredClasses())
        .filter(chapter -> chapter.isAnnotationPresent(Nested.class))
        .toList();
  }
}
