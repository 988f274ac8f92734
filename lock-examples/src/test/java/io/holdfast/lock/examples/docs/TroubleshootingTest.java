package io.holdfast.lock.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * docs/troubleshooting.md quotes the engine: what it says is logged or thrown is, word for word.
 */
class TroubleshootingTest {
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  /**
   * A call of a logger, or of a method {@code log}, with a text; {@code debug} and {@code trace}
   * are not on the page.
   */
  private static final Pattern LOGGED =
      Pattern.compile("(?:\\.(?:info|warn|error)| log)\\(\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");

  /** The first cell of a row of a table. */
  private static final Pattern FIRST_CELL = Pattern.compile("(?m)^\\| ([^|]*`[^|]*) \\|");

  private static final Pattern QUOTED = Pattern.compile("`([^`]*)`");

  private final String code = code();
  private final String page = Files.readString(ROOT.resolve("docs/troubleshooting.md"));

  TroubleshootingTest() throws IOException {}

  /** Returns the engine's sources, with each text in one piece. */
  private static String code() throws IOException {
    StringBuilder code = new StringBuilder();
    try (Stream<Path> files = Files.walk(ROOT.resolve("lock-api/src/main/java"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
        code.append(Files.readString(file));
      }
    }
    return code.toString().replaceAll("\"\\s*\\+\\s*\"", "");
  }

  @Test
  void theLinesOfTheLogAreAllThatTheEngineLogs() {
    Set<String> logged = LOGGED
        .matcher(code)
        .results()
        .map(line -> withoutEnd(line.group(1).replace("{}", "...").replace("%s", "...")))
        .collect(Collectors.toCollection(TreeSet::new));
    Set<String> told = quoted("## Lines in the log")
        .map(TroubleshootingTest::withoutEnd)
        .collect(Collectors.toCollection(TreeSet::new));
    assertThat(logged).as("lines that the engine logs").hasSizeGreaterThan(20);
    assertThat(told).isEqualTo(logged);
  }

  /** Returns a line without its end, after which a part may differ each time. */
  private static String withoutEnd(String line) {
    return line.replaceAll("[.: ]+$", "");
  }

  @Test
  void theMessagesOfExceptionsAreThoseThatTheEngineThrows() {
    Set<String> messages = quoted("## Exceptions")
        .filter(text -> text.contains("Exception: "))
        .map(text -> text.replaceFirst("^\\w+Exception: ", ""))
        .collect(Collectors.toSet());
    assertThat(messages).hasSizeGreaterThan(4).allSatisfy(message -> {
      // A part that differs each time is put between two texts, or begins with a %s.
      String thrown = Stream.of(message.split("\\.\\.\\.", -1))
          .map(Pattern::quote)
          .collect(Collectors.joining("(?:%s[^\";]{0,40}?|\"[^;]{0,200}\")"));
      assertThat(Pattern.compile(thrown).matcher(code).find()).as(message).isTrue();
    });
  }

  /** Returns what the first cells of the tables of a chapter quote. */
  private Stream<String> quoted(String heading) {
    String chapter = page.substring(page.indexOf(heading) + heading.length());
    int end = chapter.indexOf("\n## ");
    String cells = FIRST_CELL
        .matcher(end < 0 ? chapter : chapter.substring(0, end))
        .results()
        .map(MatchResult::group)
        .collect(Collectors.joining("\n"));
    return QUOTED.matcher(cells).results().map(quote -> quote.group(1));
  }
}
