package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplicationAotProcessor;

/**
 * An application that is processed ahead of time, as Spring Boot's plugins do it for
 * {@code spring.aot.enabled=true}, has its locks as any other.
 */
@Tag("nightly")
class AheadOfTimeTest {
  private static final String CLASS_PATH =
      System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  private static final long RUN_SECONDS_MAX = 50;
  private static final String[] PROPERTIES = {
    "--holdfast.actuator.page=true",
    "--management.health.redis.enabled=false",
    "--management.endpoints.web.exposure.include=*",
    "--server.port=0",
    "--spring.datasource.url=" + Runners.url("ahead-of-time"),
    "--spring.flyway.enabled=false",
    "--spring.liquibase.enabled=false"
  };

  @TempDir
  private static Path folder;

  @BeforeAll
  static void process() throws Exception {
    List<String> command = java("-cp", CLASS_PATH, SpringApplicationAotProcessor.class.getName());
    command.addAll(List.of(
        AheadOfTimeApp.class.getName(),
        folder.resolve("sources").toString(),
        folder.resolve("resources").toString(),
        folder.resolve("classes").toString(),
        "io.holdfast",
        "ahead-of-time"));
    command.add("--holdfast.store=jdbc");
    command.addAll(List.of(PROPERTIES));
    assertThat(run(command)).as("what the processing said").doesNotContain("Exception");
    compile();
  }

  private static void compile() throws IOException {
    List<String> arguments = new ArrayList<>(List.of(
        "-proc:none",
        "-nowarn",
        "-cp",
        folder.resolve("classes") + File.pathSeparator + CLASS_PATH,
        "-d",
        folder.resolve("classes").toString()));
    try (Stream<Path> sources = Files.walk(folder.resolve("sources"))) {
      sources
          .map(Path::toString)
          .filter(source -> source.endsWith(".java"))
          .forEach(arguments::add);
    }
    assertThat(ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, arguments.toArray(String[]::new)))
        .as("the compiler's status")
        .isZero();
  }

  @Test
  void itsMethodsAreLockedAndItsEndpointAndPageAnswer() throws Exception {
    assertThat(runApp("jdbc"))
        .contains("Starting AOT-processed AheadOfTimeApp", "Locks are in jdbc")
        .contains("generated: true", "locked: true")
        .contains("page: 200", "losses: 200", "locks: 200", "health: 200");
  }

  @Test
  void anotherStoreThanItWasProcessedForIsRefused() throws Exception {
    assertThat(runApp("memory"))
        .contains("APPLICATION FAILED TO START")
        .contains("in memory, and this application was processed ahead of time (AOT) for locks in"
            + " jdbc")
        .contains("Set holdfast.store to memory when the application is built");
  }

  private static String runApp(String store) throws Exception {
    List<String> command = java(
        "-Dspring.aot.enabled=true",
        "-cp",
        folder.resolve("classes")
            + File.pathSeparator
            + folder.resolve("resources")
            + File.pathSeparator
            + CLASS_PATH,
        AheadOfTimeApp.class.getName());
    command.addAll(List.of(PROPERTIES));
    command.add("--holdfast.store=" + store);
    return run(command);
  }

  private static List<String> java(String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of(arguments));
    return command;
  }

  /** Runs a program to its end, and returns what it wrote. */
  private static String run(List<String> command) throws Exception {
    Path output = Files.createTempFile(folder, "output", null);
    Process process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(output.toFile())
        .start();
    boolean hasEnded = process.waitFor(RUN_SECONDS_MAX, TimeUnit.SECONDS);
    process.destroyForcibly();
    String said = Files.readString(output, StandardCharsets.UTF_8);
    assertThat(hasEnded).as("it ended; it wrote " + said).isTrue();
    return said;
  }
}
