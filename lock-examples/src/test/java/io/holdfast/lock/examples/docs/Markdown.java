package io.holdfast.lock.examples.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Java samples in Markdown: a code block whose language is {@code java}, and above it a comment
 * that names its region.
 */
final class Markdown {
  private static final Pattern SAMPLE = Pattern.compile("<!-- sample: ([a-z0-9-]+) -->");
  /** The text of a problem with a block that names no region. */
  static final String NO_TEST_RUNS_IT = "a Java block that no test runs";

  private static final Pattern NO_SAMPLE = Pattern.compile("<!-- not a sample: .+ -->");

  private Markdown() {}

  /**
   * Adds the text to {@code result}, with every sample replaced by its region.
   *
   * @param problems gets a line for each sample that was not what its region is, or names none
   * @return how many samples there are
   */
  static int refresh(
      String file, List<String> text, Regions regions, List<String> result, List<String> problems) {
    int samples = 0;
    for (int i = 0; i < text.size(); i++) {
      result.add(text.get(i));
      if (!text.get(i).strip().equals("```java")) {
        continue;
      }
      int begin = i + 1;
      int end = begin;
      while (!text.get(end).strip().equals("```")) {
        end++;
      }
      List<String> block = text.subList(begin, end);
      String above = i == 0 ? "" : text.get(i - 1).strip();
      Matcher sample = SAMPLE.matcher(above);
      List<String> wanted = block;
      if (sample.matches()) {
        samples++;
        wanted = regions.lines(sample.group(1));
        if (!wanted.equals(block)) {
          problems.add(file + ":" + begin + ": is not what region " + sample.group(1) + " is");
        }
      } else if (!NO_SAMPLE.matcher(above).matches()) {
        problems.add(file + ":" + begin + ": " + NO_TEST_RUNS_IT + "; put it into a region of"
            + " one and \"<!-- sample: name -->\" above it (or \"<!-- not a sample: why -->\")");
      }
      result.addAll(wanted);
      i = end - 1;
    }
    return samples;
  }

  /** Returns the problems alone. */
  static List<String> problems(List<String> text, Regions regions) {
    List<String> problems = new ArrayList<>();
    refresh("a.md", text, regions, new ArrayList<>(), problems);
    return problems;
  }
}
