package io.holdfast.lock.examples.shop;

import java.io.PrintStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The program of {@code dev/dashboard-check}: a Prometheus server scrapes the shop, which has load
 * and trouble, and finds something for each query of the dashboard, for each of its variables and
 * for the alerts of the page beside it.
 */
final class DashboardCheck {
  private static final Path DOCS = Path.of("docs", "integrations");
  private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((\\w+), (\\w+)\\)");
  private static final Pattern ALERT = Pattern.compile("`(increase\\([^`]+)`");

  /** The value of Grafana's variable: at least four times the interval of scrapes. */
  private static final String RATE_INTERVAL = "10s";

  /** The event that the first instance sells. */
  private static final String LONG_PAYMENTS = "rock-night";

  /** The event that the second instance sells. */
  private static final String SHORT_PAYMENTS = "jazz-night";

  private static final int TICKETS = 1_000_000;

  /** The most rounds of trouble, each of which may miss its moment. */
  private static final int ROUNDS = 4;

  private static final String[] PROPERTIES = {
    "--holdfast.ttl=3s",
    "--holdfast.store-timeout=1s",
    "--holdfast.actuator.force-release=true",
    "--management.endpoint.locks.access=unrestricted"
  };

  /** The length of an outage: more than a payment, and the store timeout of 1 s after it. */
  private static final Duration OUTAGE = Duration.ofSeconds(4);

  /** The length of a freeze: more than the TTL. */
  private static final Duration FROZEN = Duration.ofSeconds(5);

  /** The time for a few scrapes. */
  private static final Duration PAUSE = Duration.ofSeconds(4);

  private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private final Database database;
  private final Instance first;
  private final Instance second;
  private final Prometheus prometheus;

  private DashboardCheck(
      Database database, Instance first, Instance second, Prometheus prometheus) {
    this.database = database;
    this.first = first;
    this.second = second;
    this.prometheus = prometheus;
  }

  public static void main(String[] args) throws Exception {
    boolean isComplete = false;
    try (Database database = Database.postgres();
        // A lease is renewed after 1 s, and in doubt if there is no answer after 1 s more.
        Instance first = start("shop-1", database, "--shop.payment=2500ms");
        // A lease is given back before it is renewed, and to the store.
        Instance second =
            start("shop-2", database, "--shop.payment=700ms", "--holdfast.local-hand-off=false");
        Prometheus prometheus = new Prometheus(first, second)) {
      first.web().open(LONG_PAYMENTS, TICKETS);
      second.web().open(SHORT_PAYMENTS, TICKETS);
      DashboardCheck check = new DashboardCheck(database, first, second, prometheus);
      try (Customers some = Customers.of(LONG_PAYMENTS, List.of(first.web()));
          Customers others = Customers.of(SHORT_PAYMENTS, List.of(second.web()))) {
        for (int round = 1; round <= ROUNDS && !isComplete; round++) {
          check.makeTrouble();
          isComplete = check.isComplete(round == ROUNDS);
        }
        check.out.printf(
            "Customers bought %d tickets meanwhile.%n", some.tickets() + others.tickets());
      }
    }
    System.exit(isComplete ? 0 : 1);
  }

  private static Instance start(String name, Database database, String... more) throws Exception {
    List<String> properties = new ArrayList<>(List.of(PROPERTIES));
    properties.addAll(List.of(more));
    return Instance.start(name, database, properties.toArray(new String[0]));
  }

  /** Makes leases get lost in two ways, and the database refuse connections. */
  private void makeTrouble() throws Exception {
    String token = token();
    HttpResponse<String> released =
        second.web().delete("/actuator/locks?name=tickets/" + LONG_PAYMENTS + "&token=" + token);
    if (released.statusCode() != 200) {
      throw new IllegalStateException("The endpoint refuses: " + released.body());
    }
    Thread.sleep(PAUSE.toMillis());
    first.freeze();
    Thread.sleep(FROZEN.toMillis());
    first.wake();
    Thread.sleep(PAUSE.toMillis());
    // The renewal of a lease that has just begun gets no answer, nor does the other's release.
    token = token();
    while (token().equals(token)) {
      Thread.sleep(20);
    }
    refuse();
    Thread.sleep(PAUSE.toMillis());
  }

  /** Waits until the first instance has a lease, and returns its token. */
  private String token() throws Exception {
    long untilNanos = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (System.nanoTime() - untilNanos < 0) {
      String token = Web.json(second.web().get("/actuator/locks?prefix=tickets/" + LONG_PAYMENTS))
          .at("/locks/0/token")
          .asString("");
      if (!token.isEmpty()) {
        return token;
      }
      Thread.sleep(20);
    }
    throw new IllegalStateException("Nobody has the lock");
  }

  /** Breaks all connections to the shop's database, and refuses new ones for a while. */
  private void refuse() throws SQLException, InterruptedException {
    String elsewhere = database.url().replaceAll("/shop$", "/postgres");
    try (Connection connection =
            DriverManager.getConnection(elsewhere, database.user(), database.password());
        Statement statement = connection.createStatement()) {
      statement.execute("ALTER DATABASE shop ALLOW_CONNECTIONS false");
      try {
        statement.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'shop'");
        Thread.sleep(OUTAGE.toMillis());
      } finally {
        statement.execute("ALTER DATABASE shop ALLOW_CONNECTIONS true");
      }
    }
  }

  /** Runs all queries; prints the answers if all found something, or in the last round. */
  private boolean isComplete(boolean isLast) throws Exception {
    JsonNode dashboard =
        new JsonMapper().readTree(DOCS.resolve("micrometer-dashboard.json").toFile());
    List<String> lines = new ArrayList<>();
    boolean isComplete = true;
    Map<String, String> values = new HashMap<>();
    for (JsonNode variable : dashboard.at("/templating/list")) {
      Matcher query = LABEL_VALUES.matcher(variable.at("/query/query").asString(""));
      if (query.matches()) {
        List<String> found = prometheus.values(query.group(1), query.group(2));
        values.put(variable.get("name").asString(), "(" + String.join("|", found) + ")");
        isComplete &= !found.isEmpty();
        lines.add(line(!found.isEmpty(), "variable " + query.group(2), found.toString()));
      }
    }
    isComplete &= values.size() == 3;
    for (JsonNode panel : dashboard.get("panels")) {
      for (JsonNode target : panel.get("targets")) {
        String query = target.get("expr").asString().replace("$__rate_interval", RATE_INTERVAL);
        for (Map.Entry<String, String> value : values.entrySet()) {
          query = query.replace("$" + value.getKey(), value.getValue());
        }
        OptionalDouble most = prometheus.most(query);
        // Nothing leaks in the shop: a lease that nobody closes would be a bug of it.
        boolean isFound = most.orElse(-1) > 0 || (query.contains("_leaked_") && most.isPresent());
        isComplete &= isFound;
        lines.add(line(
            isFound,
            panel.get("title").asString(),
            String.format(Locale.ROOT, "at most %.3f", most.orElse(Double.NaN))));
      }
    }
    for (String alert : ALERT
        .matcher(Files.readString(DOCS.resolve("micrometer.md")))
        .results()
        .map(found -> found.group(1))
        .toList()) {
      boolean isFiring = prometheus.most(alert).isPresent();
      boolean isGood = isFiring != alert.contains("_leaked_");
      isComplete &= isGood;
      lines.add(line(isGood, "alert " + alert, isFiring ? "fires" : "is silent"));
    }
    if (isComplete || isLast) {
      lines.forEach(out::println);
    }
    return isComplete;
  }

  private static String line(boolean isGood, String what, String found) {
    return String.format(Locale.ROOT, "%-7s %s: %s", isGood ? "ok" : "MISSING", what, found);
  }
}
