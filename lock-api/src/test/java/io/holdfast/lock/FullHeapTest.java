package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A heap that is really full, without injection. */
@Tag("nightly")
class FullHeapTest {
  private static final Pattern RESULT =
      Pattern.compile("RESULT held=(\\w+) renewals=(\\d+) left=(\\d+)");

  /** L-5.5, L-6.4. */
  @Test
  void afterTheHeapWasFullLeasesAreRenewedAndNothingIsKeptForNobody(@TempDir Path directory)
      throws Exception {
    Path output = directory.resolve("output");
    Process process = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx40m",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            FullHeap.class.getName())
        .redirectErrorStream(true)
        .redirectOutput(output.toFile())
        .start();
    try {
      assertThat(process.waitFor(2, TimeUnit.MINUTES)).as("it ended").isTrue();
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(output);
    Matcher result = RESULT.matcher(text);
    assertThat(result.find()).as("a result in %s", text).isTrue();
    assertThat(result.group(1)).as("the lease that came after is held").isEqualTo("true");
    // Each third of a TTL one request, and some of leases that were acquired in between.
    assertThat(Integer.parseInt(result.group(2))).as("renewals").isBetween(3, 100);
    assertThat(result.group(3)).as("locks that nobody has").isEqualTo("0");
  }
}
