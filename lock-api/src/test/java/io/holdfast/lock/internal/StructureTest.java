package io.holdfast.lock.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockClient;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The engine's packages: its rooms stand on each other, and none on the engine as a whole. */
class StructureTest {
  private static final String ENGINE = EngineClient.class.getPackageName();
  private static final Path SOURCES =
      Path.of(System.getProperty("basedir", "."), "src", "main", "java");

  private static final int LINES_MAX = 500;

  /** To be split. A file that is listed and is short enough by now fails the test, too. */
  private static final Set<String> TOO_LONG = Set.of();

  /** A line of jdeps: one class refers to another. */
  private static final Pattern REFERENCE = Pattern.compile("\\s+(\\S+)\\s+-> (\\S+)\\s.*");

  /** The packages that each of the engine's packages refers to, itself left out. */
  private final Map<String, Set<String>> references = new TreeMap<>();

  private final Set<String> classes = new TreeSet<>();

  private void scan() throws URISyntaxException {
    Path compiled = Path.of(EngineClient.class
            .getProtectionDomain()
            .getCodeSource()
            .getLocation()
            .toURI())
        .resolve(ENGINE.replace('.', '/'));
    StringWriter printed = new StringWriter();
    PrintWriter writer = new PrintWriter(printed);
    int exitCode = ToolProvider.findFirst("jdeps")
        .orElseThrow()
        .run(writer, writer, "-v", compiled.toString());
    assertThat(exitCode).as("%s", printed).isZero();
    printed.toString().lines().forEach(line -> {
      Matcher reference = REFERENCE.matcher(line);
      if (reference.matches()) {
        add(reference.group(1), reference.group(2));
      }
    });
  }

  private void add(String from, String to) {
    assertThat(from).startsWith(ENGINE);
    classes.add(from);
    Set<String> targets = references.computeIfAbsent(packageOf(from), p -> new TreeSet<>());
    if (to.startsWith(ENGINE + ".") && !packageOf(to).equals(packageOf(from))) {
      targets.add(packageOf(to));
    }
  }

  private static String packageOf(String className) {
    return className.substring(0, className.lastIndexOf('.'));
  }

  @Test
  void allOfTheEngineIsScanned() throws Exception {
    scan();
    assertThat(classes).hasSizeGreaterThan(100).contains(EngineClient.class.getName());
    assertThat(references).hasSizeGreaterThanOrEqualTo(10).containsKey(ENGINE);
    assertThat(references.get(ENGINE)).contains(ENGINE + ".queue", ENGINE + ".task");
  }

  @Test
  void noTwoRoomsReferToEachOtherNotEvenByWayOfOthers() throws Exception {
    scan();
    assertThat(cycle(references)).isEmpty();
  }

  @Test
  void noRoomRefersToThePackageThatPutsThemTogether() throws Exception {
    scan();
    references.forEach((room, targets) -> assertThat(targets).as(room).doesNotContain(ENGINE));
  }

  @Test
  void aCycleIsFoundWhereThereIsOne() {
    Map<String, Set<String>> chain =
        Map.of("a", Set.of("b", "c"), "b", Set.of("c"), "c", Set.of("d"), "d", Set.of());
    assertThat(cycle(chain)).isEmpty();
    Map<String, Set<String>> ring =
        Map.of("a", Set.of("b"), "b", Set.of("c"), "c", Set.of("d"), "d", Set.of("b"));
    assertThat(cycle(ring)).containsOnlyOnce("c", "d");
  }

  @Test
  void everyRoomIsIntroduced() throws Exception {
    scan();
    for (String room : references.keySet()) {
      Path introduction = SOURCES.resolve(room.replace('.', '/')).resolve("package-info.java");
      assertThat(introduction).exists();
      assertThat(Files.readString(introduction)).startsWith("/**").contains("@NullMarked");
    }
  }

  @Test
  void noSourceFileIsLong() throws Exception {
    Set<String> tooLong = new TreeSet<>();
    int files = 0;
    try (Stream<Path> paths = Files.walk(SOURCES)) {
      for (Path path : (Iterable<Path>) paths.filter(StructureTest::isJava)::iterator) {
        files++;
        if (lines(path) > LINES_MAX) {
          tooLong.add(path.getFileName().toString());
        }
      }
    }
    assertThat(files).isGreaterThan(100);
    assertThat(tooLong).isEqualTo(TOO_LONG);
  }

  @Test
  void everyClassWithCodeForItsInitialisationIsInitialisedBeforeThereIsAClient() throws Exception {
    Path compiled = Path.of(
        LockClient.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Path root = compiled.resolve(LockClient.class.getPackageName().replace('.', '/'));
    Set<String> initialised = new TreeSet<>();
    try (Stream<Path> paths = Files.walk(root)) {
      for (Path path :
          (Iterable<Path>) paths.filter(p -> p.toString().endsWith(".class"))::iterator) {
        StringWriter printed = new StringWriter();
        PrintWriter writer = new PrintWriter(printed);
        int exitCode = ToolProvider.findFirst("javap")
            .orElseThrow()
            .run(writer, writer, "-p", path.toString());
        assertThat(exitCode).as("%s", printed).isZero();
        if (printed.toString().contains("static {};")) {
          String name = root.relativize(path).toString().replace('/', '.');
          initialised.add(name.substring(0, name.length() - ".class".length()));
        }
      }
    }
    assertThat(initialised).contains("internal.Settlement");
    initialised.remove("internal.EngineClasses");
    assertThat(EngineClasses.NAMES).containsExactlyInAnyOrderElementsOf(initialised);
  }

  private static boolean isJava(Path path) {
    return path.toString().endsWith(".java");
  }

  private static long lines(Path path) throws IOException {
    try (Stream<String> lines = Files.lines(path)) {
      return lines.count();
    }
  }

  /** The packages on one cycle, the first also last; empty: there is none. */
  private static List<String> cycle(Map<String, Set<String>> references) {
    Set<String> free = new TreeSet<>();
    for (String start : new TreeSet<>(references.keySet())) {
      List<String> found = cycle(references, start, new ArrayList<>(), free);
      if (!found.isEmpty()) {
        return found;
      }
    }
    return List.of();
  }

  /**
   * A cycle that is met on the way from {@code next}.
   *
   * @param path the way so far
   * @param free packages from which no cycle is met
   */
  private static List<String> cycle(
      Map<String, Set<String>> references, String next, List<String> path, Set<String> free) {
    int before = path.indexOf(next);
    path.add(next);
    if (before >= 0) {
      return path.subList(before, path.size());
    }
    for (String target : references.getOrDefault(next, Set.of())) {
      List<String> found =
          free.contains(target) ? List.of() : cycle(references, target, path, free);
      if (!found.isEmpty()) {
        return found;
      }
    }
    path.remove(path.size() - 1);
    free.add(next);
    return List.of();
  }
}
