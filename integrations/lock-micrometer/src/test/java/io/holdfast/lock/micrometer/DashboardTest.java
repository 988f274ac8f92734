package io.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockClient;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Checks that the dashboard in docs/integrations asks for series that there are. */
class DashboardTest {
  private static final Path FILE =
      Path.of("").toAbsolutePath().resolve("../../docs/integrations/micrometer-dashboard.json");
  private static final Pattern SELECTOR = Pattern.compile("(holdfast_[a-z_]+)(?:\\{([^}]*)})?");
  private static final Pattern METER = Pattern.compile("holdfast_lock_([a-z]+)");
  private static final Pattern LABEL = Pattern.compile("([a-z]+)=~?\"([^\"]*)\"");

  private static String scrape() throws InterruptedException {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (LockClient client = InMemoryLocks.builder()
        .addListener(LockMetrics.builder(registry, "billing", "memory").build())
        .build()) {
      client.get("orders/42").run(lease -> {});
      return registry.scrape();
    }
  }

  private static List<String> expressions() throws IOException {
    return new ObjectMapper()
        .readTree(FILE.toFile()).findValues("expr").stream()
            .map(JsonNode::asText)
            .toList();
  }

  @Test
  void everyQueryAsksForSeriesThatThereAre() throws Exception {
    List<String> lines = scrape().lines().filter(line -> !line.startsWith("#")).toList();
    List<String> expressions = expressions();
    assertThat(expressions).hasSizeGreaterThan(5);
    for (String expression : expressions) {
      Matcher selector = SELECTOR.matcher(expression);
      assertThat(selector.find()).as(expression).isTrue();
      do {
        String name = selector.group(1);
        List<String> series =
            lines.stream().filter(line -> line.startsWith(name + "{")).toList();
        assertThat(series).as(name + " of " + expression).isNotEmpty();
        Matcher label = LABEL.matcher(selector.group(2) == null ? "" : selector.group(2));
        while (label.find()) {
          String text = label.group(1) + "=\"";
          // The variables of the dashboard stand for any value.
          String value = label.group(2).startsWith("$") ? "" : label.group(2);
          assertThat(series)
              .as(label.group() + " of " + expression)
              .anyMatch(line -> line.contains(text + value));
        }
      } while (selector.find());
    }
  }

  @Test
  void everyMeterIsOnTheDashboard() throws Exception {
    Set<String> shown = new TreeSet<>();
    for (String expression : expressions()) {
      Matcher selector = SELECTOR.matcher(expression);
      while (selector.find()) {
        shown.add(meter(selector.group(1)));
      }
    }
    Set<String> given = new TreeSet<>();
    scrape().lines().filter(line -> !line.startsWith("#")).forEach(line -> {
      given.add(meter(line.substring(0, line.indexOf('{'))));
    });
    assertThat(shown).isEqualTo(given);
  }

  /** Returns the word after the common prefix, which is unique to the meter. */
  private static String meter(String metric) {
    Matcher word = METER.matcher(metric);
    assertThat(word.lookingAt()).as(metric).isTrue();
    return word.group(1);
  }
}
