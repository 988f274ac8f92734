package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;

/** What is written to Consul and read from it. */
class WritingTest {
  @Test
  void namesThatDifferAreWrittenDifferently() {
    List<String> names = List.of("a/b", "a%2Fb", "a%252Fb", "a b", "a+b", "ä", "a\u0308", "\u2603");
    assertThat(names.stream().map(Keys::escape)).doesNotHaveDuplicates();
    assertThat(Keys.escape("orders/42")).isEqualTo("orders%2F42");
    assertThat(names.stream().map(Keys::escape)).allMatch(key -> key.matches("[\\w%.~-]+"));
  }

  @Test
  void sessionsHaveFewTtls() {
    assertThat(seconds(1)).isEqualTo(10);
    assertThat(seconds(10)).isEqualTo(10);
    assertThat(seconds(11)).isEqualTo(15);
    assertThat(seconds(16)).isEqualTo(20);
    assertThat(seconds(30)).isEqualTo(30);
    assertThat(seconds(31)).isEqualTo(40);
    assertThat(seconds(86_399)).isEqualTo(86_400);
    for (long wanted = 10; wanted <= 86_400; wanted += 7) {
      assertThat(seconds(wanted)).isBetween(wanted, Math.min(86_400, wanted * 3 / 2));
    }
  }

  private static long seconds(long wanted) {
    return Session.ttlSeconds(TimeUnit.SECONDS.toNanos(wanted));
  }

  @Test
  void jsonIsReadAsItIsWritten() {
    String text = "\"quoted\" \\ and \u0007 \u2603";
    assertThat(Json.parse(Json.quote(text))).isEqualTo(text);
    assertThat(Json.parse("{\"a\": [1, -2, true, null], \"b\\u0041\": {}}"))
        .isEqualTo(Map.of("a", java.util.Arrays.asList(1L, -2L, true, null), "bA", Map.of()));
  }

  @Test
  void whatIsNoJsonIsRefused() {
    for (String text : List.of("", "{", "[1,", "\"open", "nul", "{\"a\" 1}", "[] []", "x")) {
      assertThatIllegalArgumentException().as(text).isThrownBy(() -> Json.parse(text));
    }
  }

  @Test
  void aPrefixThatConsulCouldMisreadIsRefused() {
    ConsulLocks.Builder builder = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500");
    for (String prefix : List.of("", "/a", "a/", "a//b", "a/../b", ".", "ä", "a b")) {
      assertThatIllegalArgumentException().as(prefix).isThrownBy(() -> builder.prefix(prefix));
    }
    assertThat(builder.prefix("team-1/locks.v2")).isSameAs(builder);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ConsulLocks.builder(new OkHttpClient(), "localhost"));
  }
}
