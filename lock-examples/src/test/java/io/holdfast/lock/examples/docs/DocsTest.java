package io.holdfast.lock.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The documentation holds together: links lead somewhere, and samples run. The samples in README.md
 * and docs are regions of tests, word for word. {@code mvn test -pl lock-examples -am
 * -Dtest=DocsTest -Dsurefire.failIfNoSpecifiedTests=false -Dsamples=update} writes the regions into
 * the Markdown.
 */
class DocsTest {
  private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

  /**
   * Pages on which a Java block without a region is a mistake; elsewhere only those with one count.
   */
  private static final Set<String> ALL_FROM_TESTS = Set.of(
      "README.md",
      "docs/recipes.md",
      "docs/SAFETY.md",
      "docs/ARCHITECTURE.md",
      "docs/troubleshooting.md",
      "docs/backends/jdbc.md",
      "docs/backends/redis.md",
      "docs/backends/redis-quorum.md",
      "docs/backends/zookeeper.md",
      "docs/backends/consul.md");

  /** The headings of every store's page, in this order, so that readers of one know the next. */
  private static final List<String> STORE_PAGE = List.of(
      "What it guarantees",
      "Set up",
      "What it costs",
      "Waiting",
      "Failure by failure",
      "Options",
      "At 3 a.m.");

  @TempDir
  private Path directory;

  private final Regions regions = new Regions();

  @BeforeEach
  void read() throws IOException {
    Path source = Files.writeString(directory.resolve("Source.java"), """
            // tag::one[]
            first();

              second();
            // end::one[]
        """);
    regions.read(source);
  }

  @Test
  void everySampleIsARegionOfATest() throws IOException {
    Regions sources = new Regions();
    try (Stream<Path> above = Files.list(ROOT);
        Stream<Path> integrations = Files.list(ROOT.resolve("integrations"))) {
      Stream<Path> modules = Stream.concat(above, integrations);
      for (Path tests : modules.map(module -> module.resolve("src/test/java")).toList()) {
        for (Path source : files(tests, ".java")) {
          // This class has tags in its texts.
          if (!source.endsWith("DocsTest.java")) {
            sources.read(source);
          }
        }
      }
    }
    List<Path> pages = files(ROOT.resolve("docs"), ".md");
    pages.add(ROOT.resolve("README.md"));
    List<String> problems = new ArrayList<>();
    int samples = 0;
    for (Path page : pages) {
      if (System.getProperty("samples", "").equals("update")) {
        List<String> result = new ArrayList<>();
        Markdown.refresh("", Files.readAllLines(page), sources, result, new ArrayList<>());
        Files.write(page, result);
      }
      String name = ROOT.relativize(page).toString().replace('\\', '/');
      List<String> found = new ArrayList<>();
      samples +=
          Markdown.refresh(name, Files.readAllLines(page), sources, new ArrayList<>(), found);
      found.removeIf(
          problem -> problem.contains(Markdown.NO_TEST_RUNS_IT) && !ALL_FROM_TESTS.contains(name));
      problems.addAll(found);
    }
    assertThat(problems).isEmpty();
    assertThat(samples).as("samples that were found").isGreaterThan(10);
  }

  @Test
  void everyLinkLeadsSomewhere() throws IOException {
    List<Path> pages = files(ROOT.resolve("docs"), ".md");
    for (String name : List.of("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "RELEASING")) {
      pages.add(ROOT.resolve(name + ".md"));
    }
    List<String> broken = new ArrayList<>();
    for (Path page : pages) {
      broken.addAll(Links.broken(page));
    }
    assertThat(broken).isEmpty();
  }

  @Test
  void aLinkThatLeadsNowhereIsFound() throws IOException {
    Path page = Files.writeString(directory.resolve("page.md"), """
        ## It's a `heading`, is it?
        [good](page.md) [good](#its-a-heading-is-it) [bad](none.md) [bad](page.md#none)
        """);
    assertThat(Links.broken(page)).containsExactly("page.md: none.md", "page.md: page.md#none");
  }

  @Test
  void everyPageOfAStoreTellsTheSameInTheSameOrder() throws IOException {
    for (String store : List.of("jdbc", "redis", "zookeeper", "consul")) {
      List<String> told =
          new ArrayList<>(Links.headings(ROOT.resolve("docs/backends/" + store + ".md")));
      told.retainAll(STORE_PAGE);
      assertThat(told).as(store).isEqualTo(STORE_PAGE);
    }
  }

  @Test
  void theReadmeNamesTheVersionThatIsBuilt() throws IOException {
    String version = Files.readAllLines(ROOT.resolve("pom.xml")).stream()
        .filter(line -> line.startsWith("  <version>"))
        .map(line -> line.replaceAll("</?version>", "").strip())
        .findFirst()
        .orElseThrow();
    assertThat(Files.readString(ROOT.resolve("README.md")))
        .contains("<version>" + version + "</version>")
        .contains("io.holdfast:lock-bom:" + version + "'");
  }

  @Test
  void aSampleThatIsItsRegionPasses() {
    assertThat(problems("<!-- sample: one -->", "```java", "first();", "", "  second();", "```"))
        .isEmpty();
  }

  @Test
  void aSampleThatDriftedIsFound() {
    assertThat(problems("<!-- sample: one -->", "```java", "first();", "second();", "```"))
        .singleElement()
        .asString()
        .contains("a.md:2", "region one");
  }

  @Test
  void aSampleWithoutARegionIsFound() {
    assertThat(problems("Text", "```java", "first();", "```"))
        .singleElement()
        .asString()
        .contains("a.md:2");
    assertThat(problems("<!-- not a sample: a sketch -->", "```java", "first();", "```"))
        .isEmpty();
    assertThatThrownBy(() -> problems("<!-- sample: two -->", "```java", "```"))
        .hasMessageContaining("two");
  }

  @Test
  void aRegionThatDoesNotEndIsFound() throws IOException {
    Path source = Files.writeString(directory.resolve("Open.java"), "// tag::open[]\n");
    assertThatThrownBy(() -> regions.read(source)).hasMessageContaining("does not end");
  }

  private List<String> problems(String... text) {
    return Markdown.problems(List.of(text), regions);
  }

  private static List<Path> files(Path folder, String end) throws IOException {
    if (!Files.isDirectory(folder)) {
      return new ArrayList<>();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return new ArrayList<>(
          files.filter(file -> file.toString().endsWith(end)).sorted().toList());
    }
  }
}
