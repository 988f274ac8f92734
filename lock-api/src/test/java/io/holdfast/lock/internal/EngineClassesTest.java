package io.holdfast.lock.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockClient;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The list of classes that run code when they are initialised. */
class EngineClassesTest {
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
}
