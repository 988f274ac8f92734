package io.holdfast.lock.model;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Plays episodes of engines with a mistake each, until one breaks a rule, for {@code dev/model
 * --undo}.
 *
 * <p>{@code Undone COUNT FOLDER...}: each folder has the sources that a patch changed, and gets
 * their classes.
 */
final class Undone {
  private Undone() {}

  public static void main(String[] arguments) throws Exception {
    long count = Long.parseLong(arguments[0]);
    int missed = 0;
    for (int i = 1; i < arguments.length; i++) {
      Path folder = Path.of(arguments[i]);
      String found = compile(folder) ? play(folder, count) : "does not compile";
      System.out.println(folder.getFileName() + "\t" + found);
      if (!found.contains(":")) {
        missed++;
      }
    }
    System.exit(missed == 0 ? 0 : 1);
  }

  private static boolean compile(Path folder) throws IOException {
    List<String> options = new ArrayList<>(List.of(
        "--release",
        "17",
        "-nowarn",
        "-proc:none",
        "-d",
        folder.toString(),
        "-cp",
        System.getProperty("java.class.path")));
    try (Stream<Path> files = Files.walk(folder)) {
      files
          .filter(file -> file.toString().endsWith(".java"))
          .forEach(file -> options.add(file.toString()));
    }
    ToolProvider compiler = ToolProvider.findFirst("javac").orElseThrow();
    return compiler.run(System.out, System.err, options.toArray(new String[0])) == 0;
  }

  private static String play(Path folder, long count) throws Exception {
    List<URL> urls = new ArrayList<>(List.of(folder.toUri().toURL()));
    for (String entry : System.getProperty("java.class.path").split(":", -1)) {
      urls.add(url(entry));
    }
    try (URLClassLoader classes =
        new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader())) {
      Method first =
          classes.loadClass(Undone.class.getName()).getDeclaredMethod("first", long.class);
      first.setAccessible(true);
      return (String) first.invoke(null, count);
    }
  }

  private static URL url(String entry) throws MalformedURLException {
    return Path.of(entry).toUri().toURL();
  }

  /** The first episode that breaks a rule: how many it took, and which rule. */
  static String first(long count) {
    Script script = new Script();
    for (long seed = 0; seed < count; seed++) {
      Broken broken = script.run(seed);
      if (broken != null) {
        return String.format(Locale.ROOT, "episode\t%d\t%s", seed + 1, broken.getMessage());
      }
    }
    return "episode\tnot found in " + count;
  }
}
