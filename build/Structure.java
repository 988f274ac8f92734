import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks how a module is built. No package refers back to one that refers to it, not even by way of
 * others; the packages that are exported may be referred to by all. Each package is introduced. No
 * source file is long. The largest knot, classes that all refer to each other, is as large as the
 * module's pom says, neither larger nor smaller.
 */
final class Structure {
  private static final int LINES_MAX = 500;

  /** A line of jdeps: one class refers to another. */
  private static final Pattern REFERENCE = Pattern.compile("\\s+(\\S+)\\s+-> (\\S+)\\s.*");

  private Structure() {}

  /**
   * Arguments: the sources; the classes; the package in which and below which knots are looked for;
   * the size of the largest.
   */
  public static void main(String[] args) throws IOException {
    if (!Files.exists(Path.of(args[0]))) {
      return; // A module without code.
    }
    List<String> faults = new ArrayList<>(sourceFaults(Path.of(args[0])));
    Map<String, Set<String>> classes = references(Path.of(args[1]));
    Map<String, Set<String>> packages = between(classes, Structure::packageOf);
    if (classes.isEmpty()) {
      faults.add("jdeps saw no class that refers to another in " + args[1]);
    }
    Set<String> exported = exported(Path.of(args[1]));
    packages.values().forEach(targets -> targets.removeAll(exported));
    for (Set<String> ring : knots(packages)) {
      faults.add("Packages that refer to each other: " + ring);
    }
    classes.keySet().removeIf(name -> !name.startsWith(args[2] + "."));
    Set<String> largest = knots(between(classes, Structure::outermost)).stream()
        .reduce(Set.of(), (one, other) -> other.size() > one.size() ? other : one);
    if (largest.size() != Integer.parseInt(args[3])) {
      faults.add("The largest knot has %s classes, and the pom says %s (structure.knot): %s"
          .formatted(largest.size(), args[3], largest));
    }
    faults.forEach(System.err::println);
    System.exit(faults.isEmpty() ? 0 : 1);
  }

  private static List<String> sourceFaults(Path sources) throws IOException {
    List<String> faults = new ArrayList<>();
    try (Stream<Path> files = Files.walk(sources)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
        int lines = Files.readAllLines(file).size();
        if (lines > LINES_MAX) {
          faults.add("%s has %s lines, more than %s".formatted(file, lines, LINES_MAX));
        }
        Path introduction = file.resolveSibling("package-info.java");
        if (!file.endsWith("module-info.java") && !isIntroduction(introduction)) {
          faults.add(introduction + " has no comment or no @NullMarked");
        }
      }
    }
    return faults;
  }

  private static boolean isIntroduction(Path file) throws IOException {
    return Files.exists(file)
        && Files.readString(file).startsWith("/**")
        && Files.readString(file).contains("@NullMarked");
  }

  private static Set<String> exported(Path classes) throws IOException {
    Path descriptor = classes.resolve("module-info.class");
    if (!Files.exists(descriptor)) {
      return Set.of();
    }
    try (InputStream in = Files.newInputStream(descriptor)) {
      return ModuleDescriptor.read(in).exports().stream()
          .map(ModuleDescriptor.Exports::source)
          .collect(Collectors.toSet());
    }
  }

  /** Returns the classes of the module that each of them refers to. */
  private static Map<String, Set<String>> references(Path classes) {
    StringWriter printed = new StringWriter();
    PrintWriter writer = new PrintWriter(printed);
    // The folder within, so that jdeps takes it for no module, and needs none of those it requires.
    int exitCode = ToolProvider.findFirst("jdeps")
        .orElseThrow()
        .run(writer, writer, "-v", classes.resolve("io").toString());
    if (exitCode != 0) {
      throw new IllegalStateException(printed.toString());
    }
    Map<String, Set<String>> references = new TreeMap<>();
    printed.toString().lines().map(REFERENCE::matcher).filter(Matcher::matches).forEach(line -> {
      Path target = classes.resolve(line.group(2).replace('.', '/') + ".class");
      if (Files.exists(target)) {
        references.computeIfAbsent(line.group(1), from -> new TreeSet<>()).add(line.group(2));
      }
    });
    return references;
  }

  private static String packageOf(String className) {
    return className.substring(0, className.lastIndexOf('.'));
  }

  private static String outermost(String className) {
    int dollar = className.indexOf('$');
    return dollar < 0 ? className : className.substring(0, dollar);
  }

  /** Returns the references between groups of classes. */
  private static Map<String, Set<String>> between(
      Map<String, Set<String>> classes, UnaryOperator<String> group) {
    Map<String, Set<String>> between = new TreeMap<>();
    classes.forEach((from, targets) -> targets.forEach(to -> {
      String source = group.apply(from);
      String target = group.apply(to);
      if (!source.equals(target)) {
        between.computeIfAbsent(source, any -> new TreeSet<>()).add(target);
      }
    }));
    return between;
  }

  /** Returns the sets of two or more that all refer to each other: Tarjan's algorithm (1972). */
  private static List<Set<String>> knots(Map<String, Set<String>> references) {
    Search search = new Search(references);
    references.keySet().forEach(search::visit);
    return search.knots;
  }

  private static final class Search {
    private final Map<String, Set<String>> references;
    private final Map<String, Integer> index = new HashMap<>();
    private final Map<String, Integer> lowest = new HashMap<>();
    private final Deque<String> open = new ArrayDeque<>();
    private final List<Set<String>> knots = new ArrayList<>();

    Search(Map<String, Set<String>> references) {
      this.references = references;
    }

    void visit(String node) {
      if (index.containsKey(node)) {
        return;
      }
      index.put(node, index.size());
      lowest.put(node, index.get(node));
      open.push(node);
      for (String target : references.getOrDefault(node, Set.of())) {
        if (!index.containsKey(target)) {
          visit(target);
          lowest.merge(node, lowest.get(target), Math::min);
        } else if (open.contains(target)) {
          lowest.merge(node, index.get(target), Math::min);
        }
      }
      if (lowest.get(node).equals(index.get(node))) {
        Set<String> knot = new TreeSet<>();
        String member;
        do {
          member = open.pop();
          knot.add(member);
        } while (!member.equals(node));
        if (knot.size() > 1) {
          knots.add(knot);
        }
      }
    }
  }
}
