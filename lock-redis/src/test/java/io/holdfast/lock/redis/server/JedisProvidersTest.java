package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.tck.fault.Ports;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.providers.ClusterConnectionProvider;

/** With which versions of Jedis this works. */
class JedisProvidersTest {

  @Tag("each-jedis")
  @Test
  void theTestsRunOnTheVersionThatTheyAreMeantToRunOn() {
    assertThat(JedisProviders.version()).startsWith(System.getProperty("jedis.expected", "8."));
    assertThatCode(() -> JedisProviders.checkVersion(JedisProviders.version()))
        .doesNotThrowAnyException();
  }

  @NullSource
  @ParameterizedTest
  @ValueSource(strings = {"7.4.0", "7.4.1", "7.12.0-beta1", "8.0.2", "8.7", "8-SNAPSHOT", "ours"})
  void whatIsSupportedOrNotKnownIsLetThrough(String version) {
    assertThatCode(() -> JedisProviders.checkVersion(version)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(strings = {"5.2.0", "7.3.0", "7.0.0-beta1", "9.0.0"})
  void whatIsNotSupportedIsRefusedWithWhatIs(String version) {
    assertThatIllegalStateException()
        .isThrownBy(() -> JedisProviders.checkVersion(version))
        .withMessageContaining(version)
        .withMessageContaining("7.4")
        .withMessageContaining("8.x");
  }

  @Tag("each-jedis")
  @Test
  void aClientThatConnectsOtherwiseIsRefused() throws Exception {
    try (RedisClient client = Stores.client(new HostAndPort("127.0.0.1", Ports.free()), 1)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> JedisProviders.of(client, ClusterConnectionProvider.class))
          .withMessageContaining("PooledConnectionProvider");
    }
  }

  private static final String PROGRAM = """
      package app;

      import io.holdfast.lock.redis.RedisLocks;
      import java.util.Set;
      import redis.clients.jedis.HostAndPort;
      import redis.clients.jedis.RedisClusterClient;

      public class Main {
        public static void main(String[] port) {
          try (RedisClusterClient client = RedisClusterClient.builder()
              .nodes(Set.of(new HostAndPort("127.0.0.1", Integer.parseInt(port[0]))))
              .build()) {
            RedisLocks.builder(client).build();
          } catch (RuntimeException e) {
            System.out.println(e);
          }
        }
      }
      """;

  /** Jedis is an automatic module, and as such open to all. */
  @Tag("each-jedis")
  @Test
  void aProgramOfModulesGetsAsFarAsToTheServer(@TempDir Path dir) throws Exception {
    String path = modulePath();
    Path main = Files.writeString(dir.resolve("Main.java"), PROGRAM);
    Path module = Files.writeString(
        dir.resolve("module-info.java"), "module app { requires io.holdfast.lock.redis; }");
    StringWriter said = new StringWriter();
    int compiled = ToolProvider.findFirst("javac")
        .orElseThrow()
        .run(
            new PrintWriter(said),
            new PrintWriter(said),
            "-p",
            path,
            "-d",
            dir.resolve("app").toString(),
            main.toString(),
            module.toString());
    assertThat(compiled).as(said.toString()).isZero();

    Process java = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Djedis.cluster.initNoError=true",
            "-p",
            path + File.pathSeparator + dir.resolve("app"),
            "-m",
            "app/app.Main",
            Integer.toString(Ports.free()))
        .redirectErrorStream(true)
        .start();
    assertThat(new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
        .contains("LockStoreException")
        .contains("knows no primary");
  }

  /** Holdfast, Jedis and what they need; the rest of the class path is the tests'. */
  private static String modulePath() {
    Stream<String> ours = Stream.of(LockClient.class, RedisLocks.class)
        .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
        .map(location -> Path.of(URI.create(location.toString())).toString());
    Pattern needed = Pattern.compile(
        "(jedis|commons-pool2|slf4j-api|gson|json|redis-authx-core|jspecify)-[0-9][^/\\\\]*\\.jar");
    Stream<String> others = Stream.of(
            System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .filter(entry ->
            needed.matcher(String.valueOf(Path.of(entry).getFileName())).matches());
    return Stream.concat(ours, others).collect(Collectors.joining(File.pathSeparator));
  }
}
