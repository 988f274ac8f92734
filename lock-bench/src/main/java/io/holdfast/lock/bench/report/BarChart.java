package io.holdfast.lock.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Groups of bars as SVG, a few kilobytes of it, which follows the reader's choice of light or dark.
 */
final class BarChart {
  private static final int WIDTH = 760;
  private static final int HEIGHT = 300;
  private static final int LEFT = 48;
  private static final int RIGHT = WIDTH - 16;
  private static final int TOP = 52;
  private static final int BOTTOM = HEIGHT - 56;

  /** The share of a group's width that its bars take. */
  private static final double FILLED = 0.72;

  /** More lines than these would be noise. */
  private static final int LINES_MAX = 6;

  private static final String STYLE = """
      <style>
        text { font: 13px sans-serif; fill: #24292f }
        .title { font-weight: bold; font-size: 15px }
        .small { font-size: 11px }
        .card { fill: #ffffff; stroke: #d0d7de }
        .line { stroke: #d8dee4 }
        .one { stroke: #57606a; stroke-dasharray: 4 3 }
        .s0 { fill: #1f6f4a }
        .s1 { fill: #afb8c1 }
        .s2 { fill: #bf8700 }
        .s3 { fill: #0969da }
        .s4 { fill: #8250df }
        @media (prefers-color-scheme: dark) {
          text { fill: #e6edf3 }
          .card { fill: #0d1117; stroke: #30363d }
          .line { stroke: #30363d }
          .one { stroke: #9da7b1 }
          .s0 { fill: #3fb57f }
          .s1 { fill: #6e7681 }
        }
      </style>
      """;

  private record Series(String name, List<@Nullable Double> values) {}

  private final String title;
  private final String unit;
  private final List<String> groups;
  private final List<Series> series = new ArrayList<>();

  /**
   * Without bars yet.
   *
   * @param unit what the line at 1 is
   */
  BarChart(String title, String unit, List<String> groups) {
    this.title = title;
    this.unit = unit;
    this.groups = List.copyOf(groups);
  }

  /** A bar in each group, or none where the value is null. */
  BarChart with(String name, List<@Nullable Double> values) {
    series.add(new Series(name, values));
    return this;
  }

  boolean isEmpty() {
    return groups.isEmpty() || series.isEmpty();
  }

  String svg() {
    double max = 1;
    for (Series one : series) {
      for (@Nullable Double value : one.values()) {
        max = value == null ? max : Math.max(max, value);
      }
    }
    double step = step(max);
    double top = Math.ceil(max / step) * step;
    StringBuilder svg = new StringBuilder();
    line(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">",
        WIDTH,
        HEIGHT,
        escaped(title));
    svg.append(STYLE);
    line(
        svg,
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>",
        WIDTH - 1,
        HEIGHT - 1);
    text(svg, "title", "start", LEFT - 32, 26, title);
    for (int i = 0; i * step <= top + step / 2; i++) {
      double y = y(i * step, top);
      line(
          svg,
          "<line class=\"line\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>",
          LEFT,
          y,
          RIGHT,
          y);
      text(svg, "small", "end", LEFT - 6, y + 4, number(i * step));
    }
    bars(svg, top);
    double one = y(1, top);
    line(
        svg,
        "<line class=\"one\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>",
        LEFT,
        one,
        RIGHT,
        one);
    legend(svg);
    return svg.append("</svg>\n").toString();
  }

  private void bars(StringBuilder svg, double top) {
    double groupWidth = (double) (RIGHT - LEFT) / groups.size();
    double barWidth = groupWidth * FILLED / series.size();
    for (int g = 0; g < groups.size(); g++) {
      double begin = LEFT + groupWidth * (g + (1 - FILLED) / 2);
      for (int s = 0; s < series.size(); s++) {
        @Nullable Double value = series.get(s).values().get(g);
        if (value != null) {
          double x = begin + barWidth * s;
          double y = y(value, top);
          line(
              svg,
              "<rect class=\"s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
              s,
              x,
              y,
              barWidth - 2,
              BOTTOM - y);
          text(svg, "small", "middle", x + barWidth / 2 - 1, y - 4, number(value));
        }
      }
      text(svg, "", "middle", LEFT + groupWidth * (g + 0.5), BOTTOM + 18, groups.get(g));
    }
  }

  private void legend(StringBuilder svg) {
    double x = LEFT;
    for (int s = 0; s < series.size(); s++) {
      String name = series.get(s).name();
      line(
          svg,
          "<rect class=\"s%d\" x=\"%.1f\" y=\"%d\" width=\"11\" height=\"11\"/>",
          s,
          x,
          HEIGHT - 24);
      text(svg, "small", "start", x + 16, HEIGHT - 14, name);
      x += 34 + name.length() * 6.2;
    }
    text(svg, "small", "end", RIGHT, HEIGHT - 14, unit);
  }

  private static double y(double value, double top) {
    return BOTTOM - (BOTTOM - TOP) * value / top;
  }

  /** 1, 2 or 5 times a power of ten. */
  private static double step(double max) {
    double power = Math.pow(10, Math.floor(Math.log10(max / LINES_MAX)));
    for (double factor : new double[] {1, 2, 5}) {
      if (max / (power * factor) <= LINES_MAX) {
        return power * factor;
      }
    }
    return power * 10;
  }

  private static String number(double value) {
    return value >= 10
        ? String.format(Locale.ROOT, "%.0f", value)
        : String.format(Locale.ROOT, "%.2f", value).replaceFirst("\\.?0+$", "");
  }

  private static void text(
      StringBuilder svg, String style, String anchor, double x, double y, String text) {
    line(
        svg,
        "<text%s text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
        style.isEmpty() ? "" : " class=\"" + style + "\"",
        anchor,
        x,
        y,
        escaped(text));
  }

  private static void line(StringBuilder svg, String format, Object... values) {
    svg.append(String.format(Locale.ROOT, format, values)).append('\n');
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
