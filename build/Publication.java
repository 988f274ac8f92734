import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Checks a repository on disk by the rules of Maven Central: every artifact has all of its files,
 * every file has its checksums and a signature, and every POM says what Central wants to know.
 *
 * <p>{@code dev/release-check} runs this on what a release would publish, and lets GnuPG verify the
 * signatures.
 */
final class Publication {
  private static final String GROUP = "io.holdfast";

  /** The facts that Central asks of every POM; a parent in the same repository may say them. */
  private static final List<String> ASKED = List.of(
      "name",
      "description",
      "url",
      "licenses/license/name",
      "licenses/license/url",
      "developers/developer/name",
      "developers/developer/email",
      "scm/connection",
      "scm/developerConnection",
      "scm/url");

  /** The facts that are of no use if they are the parent's. */
  private static final Set<String> OWN = Set.of("name", "description");

  private static final List<String> OF_A_JAR =
      List.of(".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json", "-cyclonedx.xml");

  private final Path group;
  private final String version;
  private final List<String> problems = new ArrayList<>();
  private final Map<String, Element> poms = new LinkedHashMap<>();

  private Publication(Path repository, String version) {
    this.group = repository.resolve(GROUP.replace('.', '/'));
    this.version = version;
  }

  /** Arguments: the repository; the version; the artifacts that it has to have, and no others. */
  public static void main(String[] args) throws Exception {
    Publication publication = new Publication(Path.of(args[0]), args[1]);
    publication.check(List.of(args).subList(2, args.length));
    publication.problems.forEach(problem -> System.err.println("  " + problem));
    if (!publication.problems.isEmpty()) {
      System.err.println(publication.problems.size() + " problems");
      System.exit(1);
    }
  }

  private void check(List<String> artifacts) throws Exception {
    if (version.endsWith("-SNAPSHOT")) {
      problems.add("a snapshot can't be released: " + version);
    }
    Set<String> there = names(group);
    if (!there.equals(new TreeSet<>(artifacts))) {
      problems.add("published is " + there + " instead of " + new TreeSet<>(artifacts));
    }
    for (String artifact : there) {
      Path pom = folder(artifact).resolve(artifact + "-" + version + ".pom");
      if (Files.exists(pom)) {
        poms.put(
            artifact,
            DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(pom.toFile())
                .getDocumentElement());
      } else {
        problems.add(artifact + " has no POM of version " + version);
      }
    }
    for (String artifact : poms.keySet()) {
      int files = files(artifact);
      pom(artifact);
      System.out.println("  " + artifact + ": " + files + " files");
    }
  }

  private Path folder(String artifact) {
    return group.resolve(artifact).resolve(version);
  }

  // ---- files ----------------------------------------------------------------------------------

  /** The number of signed files that the artifact has. */
  private int files(String artifact) throws IOException, GeneralSecurityException {
    String stem = artifact + "-" + version;
    Set<String> signed = new TreeSet<>(Set.of(stem + ".pom"));
    Set<String> left = names(folder(artifact));
    if (!text(poms.get(artifact), "packaging").orElse("jar").equals("pom")) {
      OF_A_JAR.forEach(end -> signed.add(stem + end));
    } else {
      // The parent of the modules gets a bill of no materials.
      left.stream().filter(name -> name.matches(".*-cyclonedx\\.(json|xml)")).forEach(signed::add);
    }
    for (String name : signed) {
      Path file = folder(artifact).resolve(name);
      if (!left.remove(name)) {
        problems.add(name + " is missing");
        continue;
      }
      if (!left.remove(name + ".asc")) {
        problems.add(name + " is not signed");
      }
      checksum(file, "md5", "MD5", left);
      checksum(file, "sha1", "SHA-1", left);
      if (name.endsWith(".jar")) {
        jar(file);
      }
    }
    left.removeIf(name -> name.matches(".*\\.asc\\.(md5|sha1)"));
    if (!left.isEmpty()) {
      problems.add(artifact + " has files that nobody asked for: " + left);
    }
    return signed.size();
  }

  private void checksum(Path file, String end, String algorithm, Set<String> left)
      throws IOException, GeneralSecurityException {
    Path beside = file.resolveSibling(file.getFileName() + "." + end);
    if (!left.remove(beside.getFileName().toString())) {
      problems.add(beside.getFileName() + " is missing");
      return;
    }
    String is = HexFormat.of()
        .formatHex(MessageDigest.getInstance(algorithm).digest(Files.readAllBytes(file)));
    if (!Files.readString(beside).strip().equals(is)) {
      problems.add(beside.getFileName() + " is not the checksum of its file");
    }
  }

  private void jar(Path file) throws IOException {
    String name = file.getFileName().toString();
    try (JarFile jar = new JarFile(file.toFile())) {
      Set<String> entries = jar.stream().map(ZipEntry::getName).collect(Collectors.toSet());
      if (name.endsWith("-javadoc.jar")) {
        ask(entries.contains("index.html"), name + " has no index.html");
      } else if (name.endsWith("-sources.jar")) {
        ask(entries.stream().anyMatch(e -> e.endsWith(".java")), name + " has no sources");
      } else {
        ask(entries.contains("META-INF/LICENSE"), name + " has no licence in it");
        ask(entries.stream().anyMatch(e -> e.endsWith(".class")), name + " has no classes");
        String said = jar.getManifest().getMainAttributes().getValue("Implementation-Version");
        ask(version.equals(said), name + " says that it is version " + said);
      }
    }
  }

  private void ask(boolean is, String problem) {
    if (!is) {
      problems.add(problem);
    }
  }

  // ---- POMs -----------------------------------------------------------------------------------

  private void pom(String artifact) {
    Element pom = poms.get(artifact);
    for (String path : ASKED) {
      Optional<String> said = OWN.contains(path) ? text(pom, path) : inherited(pom, path);
      ask(said.isPresent(), artifact + "'s POM does not say " + path);
    }
    ask(
        inherited(pom, "version").filter(version::equals).isPresent(),
        artifact + "'s POM is of another version");
    List<Element> below = new ArrayList<>();
    collect(pom, below);
    for (Element element : below) {
      String text = element.getTextContent().strip();
      String tag = element.getTagName();
      ask(!text.endsWith("-SNAPSHOT"), artifact + "'s POM names a snapshot: " + text);
      ask(!tag.equals("repository"), artifact + "'s POM names a repository");
      ask(!tag.equals("systemPath"), artifact + "'s POM has a system path");
    }
  }

  private static void collect(Element element, List<Element> into) {
    for (Node n = element.getFirstChild(); n != null; n = n.getNextSibling()) {
      if (n instanceof Element child) {
        into.add(child);
        collect(child, into);
      }
    }
  }

  /** Of the POM, or of the next of its parents that says it; they have to be published as well. */
  private Optional<String> inherited(Element pom, String path) {
    Optional<String> own = text(pom, path);
    Optional<String> parent = text(pom, "parent/artifactId");
    if (own.isPresent() || parent.isEmpty()) {
      return own;
    }
    if (!poms.containsKey(parent.get())) {
      problems.add("the parent " + parent.get() + " is not published");
      return Optional.empty();
    }
    return inherited(poms.get(parent.get()), path);
  }

  private static Optional<String> text(Element element, String path) {
    Element at = element;
    for (String tag : path.split("/")) {
      Element child = null;
      for (Node n = at.getFirstChild(); n != null && child == null; n = n.getNextSibling()) {
        if (n instanceof Element found && found.getTagName().equals(tag)) {
          child = found;
        }
      }
      if (child == null) {
        return Optional.empty();
      }
      at = child;
    }
    return Optional.of(at.getTextContent().strip()).filter(text -> !text.isEmpty());
  }

  private static Set<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.startsWith("maven-metadata"))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }
}
