package io.holdfast.lock.examples.tickets;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The options of {@code dev/demo}: it looks at them before it builds anything. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "it is a bash script")
class DemoScriptTest {
  private record Ended(int status, String told) {}

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--bogus",
        "extra",
        "--store",
        "--store oracle",
        "--store mysql",
        "--store mysql --url jdbc:postgresql://localhost/test",
        "--store redis",
        "--store redis --url localhost:6379",
        "--store redis --url redis://localhost:6379 --user me",
        "--store zookeeper",
        "--store zookeeper --url jdbc:h2:tcp://localhost/test",
        "--store zookeeper --url localhost:2181 --user root",
        "--store consul",
        "--store consul --url localhost:8500",
        "--store consul --url http://localhost:8500 --user me",
        "--store h2 --url jdbc:h2:mem:test",
        "--url jdbc:h2:tcp://localhost/test",
        "--user root"
      })
  void badOptionsGetAUsageLine(String options) throws Exception {
    Ended demo = run(options.split(" ", -1));
    assertThat(demo.told()).startsWith("demo: ").contains("usage: dev/demo [--store");
    assertThat(demo.told().lines()).hasSize(2);
    assertThat(demo.status()).isEqualTo(2);
  }

  @Test
  void helpIsNoError() throws Exception {
    Ended demo = run("--help");
    assertThat(demo.told()).startsWith("usage: dev/demo [--store").contains("--password");
    assertThat(demo.status()).isZero();
  }

  private static Ended run(String... options) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add("bash");
    command.add(Path.of("..", "dev", "demo").toString());
    command.addAll(List.of(options));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), told);
  }
}
