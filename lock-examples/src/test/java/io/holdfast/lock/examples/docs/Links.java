package io.holdfast.lock.examples.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks links between pages: relative ones, to a file of the repository or a heading of it. */
final class Links {
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern ANCHOR = Pattern.compile("<a id=\"([^\"]+)\">");
  private static final Pattern HEADING = Pattern.compile("#{1,6} (.+)");

  private Links() {}

  /** Returns the links of a page that lead nowhere. */
  static List<String> broken(Path page) throws IOException {
    List<String> broken = new ArrayList<>();
    for (String line : prose(page)) {
      Matcher link = LINK.matcher(line);
      while (link.find()) {
        String target = link.group(1);
        // What the repository's host adds is not in the repository.
        if (!target.contains("://")
            && !target.startsWith("../../security/")
            && !leads(page, target)) {
          broken.add(page.getFileName() + ": " + target);
        }
      }
    }
    return broken;
  }

  private static boolean leads(Path page, String target) throws IOException {
    int hash = target.indexOf('#');
    String path = hash < 0 ? target : target.substring(0, hash);
    Path file = path.isEmpty() ? page : page.resolveSibling(path).normalize();
    if (!Files.exists(file)) {
      return false;
    }
    return hash < 0 || anchors(file).contains(target.substring(hash + 1));
  }

  private static Set<String> anchors(Path file) throws IOException {
    Set<String> anchors = new HashSet<>();
    for (String line : prose(file)) {
      Matcher heading = HEADING.matcher(line);
      if (heading.matches()) {
        anchors.add(heading
            .group(1)
            .toLowerCase(Locale.ROOT)
            .replaceAll("[^\\p{L}\\p{N} _-]", "")
            .replace(' ', '-'));
      }
      Matcher anchor = ANCHOR.matcher(line);
      while (anchor.find()) {
        anchors.add(anchor.group(1));
      }
    }
    return anchors;
  }

  /** Returns the headings of the second level, in their order. */
  static List<String> headings(Path page) throws IOException {
    return prose(page).stream()
        .filter(line -> line.startsWith("## "))
        .map(line -> line.substring(3))
        .toList();
  }

  /** Returns the lines that are not code. */
  private static List<String> prose(Path page) throws IOException {
    List<String> prose = new ArrayList<>();
    boolean code = false;
    for (String line : Files.readAllLines(page)) {
      if (line.strip().startsWith("```")) {
        code = !code;
      } else if (!code) {
        prose.add(line);
      }
    }
    return prose;
  }
}
