package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.fault.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Chapter 1: names and other arguments. */
public abstract class NamingRules extends RuleTest {

  /** Called by JUnit. */
  protected NamingRules() {}

  @Rule("L-1.1")
  @Test
  void aNameThatBreaksTheRulesIsRefused() {
    LockClient client = client();
    for (String name : List.of(
        "",
        "a".repeat(201),
        "\uD83D\uDE00".repeat(201),
        "a\u0000b",
        "a\nb",
        "a\u007Fb",
        "a\u0085b",
        "\uD83D",
        "a\uDE00b")) {
      assertThatIllegalArgumentException()
          .as("a name of %s chars", name.length())
          .isThrownBy(() -> client.get(name).name());
    }
    assertThatNullPointerException().isThrownBy(() -> getWithoutName(client));
    assertThatNullPointerException().isThrownBy(() -> getWithoutOptions(client));
  }

  @SuppressWarnings("NullAway") // to see what a caller without NullAway gets
  private static String getWithoutName(LockClient client) {
    return client.get(null).name();
  }

  @SuppressWarnings("NullAway") // to see what a caller without NullAway gets
  private String getWithoutOptions(LockClient client) {
    return client.get(freshName(), null).name();
  }

  @Rule("L-1.1")
  @Requires(Capability.FAULTS)
  @Test
  void aWrongNameIsRefusedWithoutARequest() {
    Link link = link();
    LockClient client = client(link);
    take(client.get(freshName())).close();
    link.refuse();
    assertThatIllegalArgumentException()
        .as("an empty name, without a way to the store")
        .isThrownBy(() -> client.get("").name());
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> client.get("x", LockOptions.fixed(Duration.ofMillis(1))).name());
  }

  @Rule("L-1.2")
  @Test
  void namesThatDifferInAnyWayAreDifferentLocks() {
    String base = freshName();
    List<String> names = new ArrayList<>();
    for (String variant : List.of(
        "a",
        "A",
        "a ",
        " a",
        "a  ",
        "\u00E4",
        "a\u0308",
        "\u00C4",
        "ss",
        "\u00DF",
        "SS",
        "i",
        "I",
        "\u0131",
        "\u0130",
        "k",
        "\u212A",
        "\uFF41",
        "\u00AA",
        "0",
        "00",
        "-0",
        "a/b",
        "a\\b",
        "a.b",
        "a:b",
        "a%b",
        "a_b",
        "a%2Fb",
        "a*",
        "a?",
        "'a'",
        "\"a\"",
        "{a}",
        ".",
        "..",
        "/",
        "//",
        "\uD83D\uDE00",
        "\uD83D\uDE01",
        "\u4E2D",
        "\u0639",
        "a\u200Bb",
        "a\u00A0b",
        "\uFEFFa",
        "\uFFFD")) {
      names.add(base + variant);
      names.add(variant + base);
    }
    LockClient holder = client();
    LockClient other = client();
    List<Lease> leases = new ArrayList<>();
    for (String name : names) {
      assertThat(holder.get(name, lasting()).tryLock())
          .as("tryLock() of '%s' while only names that differ from it are held", name)
          .hasValueSatisfying(leases::add);
    }
    for (String name : names) {
      assertTaken(other, name, "'" + name + "' is held");
    }
    leases.forEach(Lease::close);
    for (String name : names) {
      assertThat(isFree(other, name)).as("'%s' is free after its release", name).isTrue();
    }
  }

  @Rule("L-1.3")
  @Test
  void aLongNameIsNeverCutShort() {
    LockClient holder = client();
    LockClient other = client();
    for (String filler : List.of("x", "\u00E4", "\u4E2D", "\uD83D\uDE00")) {
      // 200 code points, up to 800 bytes in UTF-8.
      String unique = freshName();
      String common = unique + filler.repeat(199 - unique.length());
      Lease first = take(holder.get(common + "1"));
      Lease second = take(other.get(common + "2"));
      assertTaken(other, common + "1", "the longest name");
      assertTaken(holder, common + "2", "a name that differs in its last character");
      assertThat(first.name()).isEqualTo(common + "1");
      first.close();
      second.close();
    }
  }

  @Rule("L-1.4")
  @Test
  void optionsOutOfRangeAreRefused() {
    Duration zero = Duration.ZERO;
    Duration negative = Duration.ofMillis(-1);
    Duration second = Duration.ofSeconds(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.renewed(zero).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.fixed(zero).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.fixed(negative).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.defaults().withMinHold(negative).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.defaults().withMaxHold(zero).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LockOptions.fixed(second).withMaxHold(second).ttl());
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> LockOptions.fixed(second).withMinHold(second.plusMillis(1)).ttl());

    LockClient client = timedClient();
    Duration storeTimeout = timing().storeTimeout();
    LockOptions shortRenewed = LockOptions.renewed(storeTimeout.multipliedBy(3).minusMillis(1));
    LockOptions shortFixed = LockOptions.fixed(storeTimeout);
    String name = freshName();
    assertThatIllegalArgumentException()
        .as("a renewed TTL below three store timeouts")
        .isThrownBy(() -> client.get(name, shortRenewed).name());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> client.get(name, shortFixed).name());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> client.get(name).with(shortRenewed).name());
  }

  @Rule("L-1.4")
  @Test
  void aLockThatIsGotWithoutOptionsHasTheDefaultOnesOfItsClient() {
    LockOptions options = LockOptions.fixed(LONG_TTL);
    LockClient client = client(builder -> builder.defaultOptions(options));
    assertThat(client.defaultOptions()).isEqualTo(options);
    assertThat(client.get(freshName()).options())
        .as("options() of a lock that was got without any")
        .isEqualTo(options);
  }

  @Rule("L-1.5")
  @Test
  void zeroOrLessWaitsNotAtAll() throws InterruptedException {
    LockClient holder = client();
    LockClient other = client();
    String name = freshName();
    for (Duration none : List.of(Duration.ZERO, Duration.ofMillis(-1), Duration.ofDays(-99_999))) {
      Optional<Lease> lease = holder.get(name).tryLock(none);
      assertThat(lease).as("tryLock(%s) of a free lock", none).isPresent();
      assertThat(other.get(name).tryLock(none))
          .as("tryLock(%s) of a taken lock", none)
          .isEmpty();
      lease.orElseThrow().close();
    }
  }
}
