package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.consul.store.ConsulStore;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;

/** The texts that are written to Consul and read from it. */
class WritingTest {
  @Test
  void namesThatDifferAreWrittenDifferently() {
    List<String> names = List.of("a/b", "a%2Fb", "a%252Fb", "a b", "a+b", "ä", "a\u0308", "\u2603");
    assertThat(names.stream().map(Keys::escape)).doesNotHaveDuplicates();
    assertThat(Keys.escape("orders/42")).isEqualTo("orders-_2F42");
    assertThat(names.stream().map(Keys::escape)).allMatch(key -> key.matches("[A-Za-z0-9_.-]+"));
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
  void whatIsNoMarkIsAHolderOfWhomNothingElseIsKnown() {
    Instant since = Instant.parse("2026-11-22T08:00:00.123Z");
    Mark mark = new Mark(Mark.Word.RELEASED, 5, 7, since.toString(), "a holder, of several words");
    assertThat(Mark.parse(mark.text())).isEqualTo(mark);
    assertThat(mark.since()).isEqualTo(since);
    for (String text : List.of(
        "",
        "them",
        "attempt 5 0 a holder of several words",
        "attempt -5 0 2026-11-22T08:00:00Z them",
        "attempt 5 many 2026-11-22T08:00:00Z them",
        "attempt 5 2026-11-22T08:00:00Z them")) {
      assertThat(Mark.parse(text)).isEqualTo(new Mark(Mark.Word.ATTEMPT, 0, 0, "", text));
    }
  }

  @Test
  void aMarkOfALaterVersionIsAnAttemptWithItsTtl() {
    Mark mark = Mark.parse("permit 5000 7 2026-11-22T08:00:00Z of a later version");
    assertThat(mark.word()).isEqualTo(Mark.Word.ATTEMPT);
    assertThat(mark.millis()).isEqualTo(5_000);
    assertThat(mark.overIndex()).isEqualTo(7);
  }

  @Test
  void aLeaseThatNoSessionCanHaveIsRefusedWithoutARequest() throws StoreException {
    StoreSettings settings =
        new StoreSettings("unused", Duration.ofSeconds(5), TimeSource.system(), PlainStore.UNHEARD);
    HttpUrl url = HttpUrl.get("http://nowhere.invalid");
    ConsulHttp nowhere = new ConsulHttp(
        new ConsulHttp.Settings(new OkHttpClient(), url, null, ConsulException::new), settings);
    Duration day = Duration.ofDays(1);
    LockOptions options = LockOptions.defaults();
    try (LockStore store = new ConsulStore(nowhere, "unused", settings)) {
      store.checkOptions(options.withTtl(day).withMinHold(day));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> store.checkOptions(options.withTtl(day.plusSeconds(1))))
          .withMessageContaining("TTL of PT24H1S")
          .withMessageContaining("24 h at most");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> store.checkOptions(options.withMinHold(day.plusSeconds(1))))
          .withMessageContaining("minHold of PT24H1S");
    }
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
  void aPrefixInTheFoldersOfAnotherPrefixIsRefused() {
    ConsulLocks.Builder builder = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500");
    for (String prefix : List.of("app/session", "app/m", "app/session/x", "a/b/m/c")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> builder.prefix(prefix))
          .withMessageContaining(prefix);
    }
  }

  @Test
  void aPrefixThatConsulCouldMisreadIsRefused() {
    ConsulLocks.Builder builder = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500");
    for (String prefix : List.of("", "/a", "a/", "a//b", "a/../b", ".", "ä", "a b")) {
      assertThatIllegalArgumentException().as(prefix).isThrownBy(() -> builder.prefix(prefix));
    }
    assertThat(builder.prefix("team-1/locks.v2")).isSameAs(builder);
    assertThat(builder.prefix("m/sessions/mm")).isSameAs(builder);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ConsulLocks.builder(new OkHttpClient(), "localhost"));
  }
}
