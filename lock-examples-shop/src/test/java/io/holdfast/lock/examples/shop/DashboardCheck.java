package io.holdfast.lock.examples.shop;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The program behind {@code dev/dashboard-check}: everything that the dashboard asks a Prometheus
 * server for is found there, while the shop has load and trouble.
 */
final class DashboardCheck {
  private static final Path DOCS = Path.of("docs", "integrations");
  private static final int PANELS = 12;
  private static final int TICKETS = 1_000_000;

  /** Trouble may miss its moment, so there is more than one round of it. */
  private static final int ROUNDS = 4;

  /** Longer than the TTL of 3 s. */
  private static final Duration FROZEN = Duration.ofSeconds(5);

  /** Longer than the store timeout of 1 s, and shorter than the TTL. */
  private static final Duration OUTAGE = Duration.ofSeconds(2);

  /** Time for a few scrapes. */
  private static final Duration PAUSE = Duration.ofSeconds(4);

  /** What Grafana makes of its variable: at least four times the interval of scrapes. */
  private static final String RATE_INTERVAL = "10s";

  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private final Dashboard dashboard;
  private final Prometheus prometheus;
  private final Instant began = Instant.now();

  private DashboardCheck(Dashboard dashboard, Prometheus prometheus) {
    this.dashboard = dashboard;
    this.prometheus = prometheus;
  }

  public static void main(String[] args) throws Exception {
    boolean isComplete = false;
    try (Postgres postgres = new Postgres()) {
      List<Instance> instances = Instance.start(
          2,
          postgres,
          // A lease is renewed after a third of the TTL, which is 1 s; a renewal without an answer
          // is given up after the store timeout, 1 s more. The lease has to be open then.
          "shop.moment=2500ms",
          "holdfast.actuator.force-release=true",
          "management.endpoint.locks.access=unrestricted");
      try (Sale sale = new Sale(postgres, instances, TICKETS);
          Prometheus prometheus = new Prometheus(instances);
          Customers customers = sale.customers()) {
        DashboardCheck check = new DashboardCheck(Dashboard.read(DOCS), prometheus);
        for (int round = 1; round <= ROUNDS && !isComplete; round++) {
          makeTrouble(sale, postgres);
          isComplete = check.isComplete(round == ROUNDS);
        }
        OUT.printf(
            Locale.ROOT,
            "Customers bought %d tickets meanwhile.%n",
            customers.tickets().size());
      } finally {
        instances.forEach(Instance::close);
      }
    }
    System.exit(isComplete ? 0 : 1);
  }

  /** Has leases lost in two ways, and the database out of reach. */
  private static void makeTrouble(Sale sale, Postgres postgres) throws Exception {
    sale.forceRelease();
    Thread.sleep(PAUSE.toMillis());
    Instance frozen = sale.holder();
    frozen.freeze();
    Thread.sleep(FROZEN.toMillis());
    frozen.wake();
    Thread.sleep(PAUSE.toMillis());
    // The renewal of a lease that has just begun fails, and then its release.
    sale.awaitNextHolder();
    postgres.refuse(OUTAGE);
    Thread.sleep(PAUSE.toMillis());
  }

  /** Asks everything, and prints the answers if all was found, or if this is the last time. */
  private boolean isComplete(boolean isLast) throws Exception {
    List<String> lines = new ArrayList<>();
    boolean isComplete =
        dashboard.queries().stream().map(Dashboard.Query::panel).distinct().count() == PANELS;
    Map<String, String> values = new HashMap<>();
    for (Dashboard.Variable variable : dashboard.variables()) {
      List<String> found = prometheus.values(variable.metric(), variable.label());
      values.put(variable.name(), "(" + String.join("|", found) + ")");
      isComplete &= !found.isEmpty();
      lines.add(line(!found.isEmpty(), "variable " + variable.name(), found.toString()));
    }
    for (Dashboard.Query query : dashboard.queries()) {
      String expression = substituted(query.expression(), values);
      List<Prometheus.Series> graph = prometheus.graph(expression, began, Instant.now());
      // Nothing leaks in the shop: a lease that nobody closes would be a bug of it.
      boolean isZeroWelcome = query.expression().contains("_leaked_");
      double most = graph.stream()
          .flatMap(series -> series.numbers().stream())
          .mapToDouble(number -> number)
          .max()
          .orElse(Double.NaN);
      boolean isLabelled =
          graph.stream().allMatch(series -> series.labels().keySet().containsAll(query.labels()));
      boolean isFound = isLabelled && (most > 0 || (isZeroWelcome && most == 0));
      isComplete &= isFound;
      lines.add(line(
          isFound,
          query.panel(),
          String.format(Locale.ROOT, "%d series, at most %.3f", graph.size(), most)));
    }
    for (String alert : dashboard.alerts()) {
      boolean fires = !prometheus.graph(alert, began, Instant.now()).isEmpty();
      boolean isToFire = !alert.contains("_leaked_");
      isComplete &= fires == isToFire;
      lines.add(line(fires == isToFire, "alert " + alert, fires ? "fires" : "is silent"));
    }
    isComplete &= !dashboard.alerts().isEmpty();
    if (isComplete || isLast) {
      lines.forEach(OUT::println);
    }
    return isComplete;
  }

  private static String substituted(String expression, Map<String, String> values) {
    String result = expression.replace("$__rate_interval", RATE_INTERVAL);
    for (Map.Entry<String, String> value : values.entrySet()) {
      result = result.replace("$" + value.getKey(), value.getValue());
    }
    return result;
  }

  private static String line(boolean isGood, String what, String found) {
    return String.format(Locale.ROOT, "%-7s %s: %s", isGood ? "ok" : "MISSING", what, found);
  }
}
