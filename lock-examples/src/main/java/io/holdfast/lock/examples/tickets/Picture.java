package io.holdfast.lock.examples.tickets;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Makes a picture of what the demo printed: a terminal as SVG, in the reader's light or dark.
 * {@code dev/demo --picture FILE} runs this.
 */
public final class Picture {
  private static final double COLUMN = 7.85;
  private static final int ROW = 18;
  private static final int MARGIN = 16;

  private static final Pattern BAD =
      Pattern.compile("one seat was sold|sold twice|FAILED|DID NOT|WENT THROUGH");

  private static final Pattern GOOD =
      Pattern.compile("  shown  |was refused;|rose with every sale");

  private static final String STYLE = """
      <style>
        text { font: 13px ui-monospace, monospace; fill: #24292f; white-space: pre }
        .card { fill: #ffffff; stroke: #d0d7de }
        .title { font-weight: bold }
        .good { fill: #1a7f37 }
        .bad { fill: #cf222e }
        @media (prefers-color-scheme: dark) {
          text { fill: #e6edf3 }
          .card { fill: #0d1117; stroke: #30363d }
          .good { fill: #3fb950 }
          .bad { fill: #ff7b72 }
        }
      </style>
      """;

  private Picture() {}

  /** Reads the text from the standard input, and writes the file that is named. */
  public static void main(String[] arguments) throws IOException {
    String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    Files.writeString(Path.of(arguments[0]), svg(text.strip().lines().toList()));
  }

  static String svg(List<String> lines) {
    int columns = lines.stream().mapToInt(String::length).max().orElse(0);
    double width = Math.ceil(columns * COLUMN) + 2 * MARGIN;
    int height = lines.size() * ROW + 2 * MARGIN;
    StringBuilder svg = new StringBuilder();
    svg.append(String.format(
        Locale.ROOT,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\">\n",
        width,
        height,
        width,
        height));
    svg.append(STYLE);
    svg.append(String.format(
        Locale.ROOT,
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%.0f\" height=\"%d\" rx=\"8\"/>\n",
        width - 1,
        height - 1));
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (!line.isBlank()) {
        svg.append(String.format(
            Locale.ROOT,
            "<text%s x=\"%d\" y=\"%d\">%s</text>\n",
            style(line),
            MARGIN,
            MARGIN + ROW * i + ROW - 5,
            escaped(line)));
      }
    }
    return svg.append("</svg>\n").toString();
  }

  private static String style(String line) {
    if (!line.startsWith(" ")) {
      return " class=\"title\"";
    }
    if (GOOD.matcher(line).find()) {
      return " class=\"good\"";
    }
    return BAD.matcher(line).find() ? " class=\"bad\"" : "";
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}
