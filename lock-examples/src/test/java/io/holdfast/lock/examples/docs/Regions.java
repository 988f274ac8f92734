package io.holdfast.lock.examples.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The lines between {@code tag::name[]} and {@code end::name[]} in Java sources. */
final class Regions {
  private static final Pattern TAG = Pattern.compile("\\s*// (tag|end)::([a-z0-9-]+)\\[\\]");

  private final Map<String, List<String>> regions = new LinkedHashMap<>();

  /** Reads a file's regions; no name may appear twice in all files. */
  void read(Path file) throws IOException {
    String name = null;
    List<String> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      Matcher tag = TAG.matcher(line);
      if (!tag.matches()) {
        lines.add(line);
      } else if (tag.group(1).equals("tag")) {
        if (name != null || regions.containsKey(tag.group(2))) {
          throw new IllegalStateException(
              "Region " + tag.group(2) + " in " + file + " is nested, or exists elsewhere");
        }
        name = tag.group(2);
        lines.clear();
      } else {
        if (!tag.group(2).equals(name)) {
          throw new IllegalStateException(
              "Region " + tag.group(2) + " in " + file + " ends, but did not begin");
        }
        regions.put(name, outdented(lines));
        name = null;
      }
    }
    if (name != null) {
      throw new IllegalStateException("Region " + name + " in " + file + " does not end");
    }
  }

  /** Returns the lines of a region, moved to the left margin. */
  List<String> lines(String name) {
    List<String> lines = regions.get(name);
    if (lines == null) {
      throw new IllegalStateException("No region \"" + name + "\"; there are " + regions.keySet());
    }
    return lines;
  }

  private static List<String> outdented(List<String> lines) {
    int indent = lines.stream()
        .filter(line -> !line.isBlank())
        .mapToInt(line -> line.length() - line.stripLeading().length())
        .min()
        .orElse(0);
    return lines.stream()
        .map(line -> line.isBlank() ? "" : line.substring(indent))
        .toList();
  }
}
