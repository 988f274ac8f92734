package io.holdfast.lock.examples.shop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/**
 * The dashboard for Grafana, and the alerts that the page beside it recommends.
 *
 * @param variables those that Prometheus is asked for
 * @param alerts queries that find something when they have to be looked at
 */
record Dashboard(List<Variable> variables, List<Query> queries, List<String> alerts) {
  private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((\\w+), (\\w+)\\)");
  private static final Pattern LEGEND_LABEL = Pattern.compile("\\{\\{(\\w+)}}");
  private static final Pattern ALERT = Pattern.compile("`(increase\\([^`]+)`");

  /** A variable, whose values are those of a label. */
  record Variable(String name, String metric, String label) {}

  /**
   * One of the queries of a panel.
   *
   * @param labels those that the legend shows
   */
  record Query(String panel, String expression, List<String> labels) {}

  /** Reads both files. */
  static Dashboard read(Path folder) throws IOException {
    JsonNode json = Web.json(Files.readString(folder.resolve("micrometer-dashboard.json")));
    List<Variable> variables = new ArrayList<>();
    for (JsonNode variable : json.get("templating").get("list")) {
      if (variable.get("type").asString().equals("query")) {
        Matcher values = LABEL_VALUES.matcher(variable.get("query").get("query").asString());
        if (!values.matches()) {
          throw new IllegalStateException("Not a query for values: " + variable);
        }
        variables.add(
            new Variable(variable.get("name").asString(), values.group(1), values.group(2)));
      }
    }
    List<Query> queries = new ArrayList<>();
    for (JsonNode panel : json.get("panels")) {
      for (JsonNode target : panel.get("targets")) {
        List<String> labels = LEGEND_LABEL
            .matcher(target.get("legendFormat").asString())
            .results()
            .map(label -> label.group(1))
            .toList();
        queries.add(
            new Query(panel.get("title").asString(), target.get("expr").asString(), labels));
      }
    }
    List<String> alerts = ALERT
        .matcher(Files.readString(folder.resolve("micrometer.md")))
        .results()
        .map(alert -> alert.group(1))
        .toList();
    return new Dashboard(variables, queries, alerts);
  }
}
