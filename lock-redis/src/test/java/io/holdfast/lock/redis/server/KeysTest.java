package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.util.JedisClusterCRC16;

class KeysTest {
  private static final List<String> NAMES = List.of(
      "orders/42",
      "{",
      "}",
      "{}",
      "a{b}c",
      "a%7Bb%7Dc",
      "%",
      "%25",
      "%257B",
      "}{",
      "ä",
      "a\u0308",
      "\ud83d\ude00",
      " ",
      "orders/42:line",
      "orders/42}:line");

  @Test
  void differentNamesNeverShareAKey() {
    Set<String> keys = NAMES.stream()
        .map(name -> Keys.of("holdfast", Claims.key(name)))
        .collect(Collectors.toSet());
    assertThat(keys).hasSize(NAMES.size());
  }

  @Test
  void theKeyOfALockIsInTheSlotOfItsEscapedName() {
    for (String name : NAMES) {
      assertThat(JedisClusterCRC16.getSlot(Keys.of("a:b", Claims.key(name))))
          .as("slot of %s", name)
          .isEqualTo(JedisClusterCRC16.getSlot("{" + Keys.escaped(name) + "}"));
    }
  }

  @Test
  void aKeyIsReadAsTheNameThatItWasWrittenFor() {
    for (String name : NAMES) {
      String key = Keys.of("a:b", Claims.key(name));
      assertThat(Keys.parse("a:b", LockKind.MUTEX, key)).contains(Claims.key(name));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a:b:m:{}",
        "a:b:m:{name}:line",
        "a:b:m:{%zz}",
        "a:b:m:{a{b}",
        "a:b:m:{a\nb}",
        "a:b:m:{name",
        "a:m:{name}",
        ""
      })
  void aKeyThatIsOfNoLockIsReadAsNone(String key) {
    assertThat(Keys.parse("a:b", LockKind.MUTEX, key)).isEmpty();
  }

  @Test
  void aPlainNameIsTheHashTag() {
    assertThat(Keys.of("holdfast", Claims.key("orders/42"))).isEqualTo("holdfast:m:{orders/42}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a{b", "a}b", "a b", "a|b", "a*", "ä"})
  void aPrefixThatMeansSomethingInAKeyIsRefused(String prefix) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Keys.checkPrefix(prefix))
        .withMessageContaining("'" + prefix + "'");
  }

  @Test
  void timesAreRoundedUpToMilliseconds() {
    assertThat(Keys.millisUp(Duration.ofNanos(1_000_001))).isEqualTo(2);
    assertThat(Keys.millisUp(Duration.ofMillis(3))).isEqualTo(3);
    assertThat(Keys.millisUp(Duration.ZERO)).isZero();
  }
}
