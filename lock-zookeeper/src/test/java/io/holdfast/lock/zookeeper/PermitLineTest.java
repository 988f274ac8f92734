package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("one-jdk")
class PermitLineTest {
  private static final String A = "a".repeat(32);
  private static final String B = "b".repeat(32);
  private static final String C = "c".repeat(32);

  private static PermitLine line(String... children) throws StoreException {
    return PermitLine.of("/p", 2, List.of(children));
  }

  private static OwnNode node(String name) {
    Claim claim = new Claim(
        new LockKey(LockKind.PERMIT, "n"),
        name.substring(0, 32),
        Duration.ofSeconds(1),
        Duration.ZERO,
        "h",
        2);
    int permit = name.charAt(33) == 'p' ? Character.digit(name.charAt(34), 10) : 0;
    OwnNode node = new OwnNode(claim, "/p", name.substring(0, name.length() - 10), permit);
    node.made(new Wire.Made("/p/" + name, new Stat()), null);
    return node;
  }

  @Test
  void theFirstBidForAPermitIsTheOneWithTheLeastNumberWhateverItsBidder() throws StoreException {
    String first = B + "-p1.3-0000000007";
    String second = A + "-p1.0-0000000012";
    PermitLine line = line(second, first);
    assertThat(line.isFirst(node(first))).isTrue();
    assertThat(line.isFirst(node(second))).isFalse();
    assertThat(line.free(1)).hasValue(0);
    assertThat(line.free(0)).hasValue(0);
  }

  @Test
  void whoWaitsIsServedInOrderAndNotWhoHasAPermitAlready() throws StoreException {
    String served = A + "-w-0000000003";
    String second = B + "-w-0000000004";
    String third = C + "-w-0000000010";
    PermitLine line = line(third, A + "-p0.0-0000000006", second, served);
    assertThat(line.waitingBefore(node(second))).isNull();
    assertThat(line.waitingBefore(node(third)).name()).isEqualTo(second);
    assertThat(line.waitingBefore(null).name()).isEqualTo(third);
    assertThat(line.isAnybodyWaiting()).isTrue();
  }

  @Test
  void aMarkKeepsItsPermitAndWhoBidsForItWaits() throws StoreException {
    PermitLine line = line(Names.ofMark(77, 0), A + "-p0.0-0000000006", A + "-w-0000000003");
    assertThat(line.free(0)).hasValue(1);
    assertThat(line.marks(0)).containsExactly("hold-000000000000004d-0");
    assertThat(Names.numberOfMark("hold-000000000000004d-0")).isEqualTo(77);
    assertThat(line.isAnybodyWaiting()).isTrue();
    assertThat(line.marksToWaitFor(node(A + "-p0.0-0000000006"))).hasSize(1);
    assertThat(line.marksToWaitFor(null)).isEmpty();
    assertThat(line(Names.ofMark(77, 0)).isEmpty()).isTrue();
  }

  @Test
  void whatIsNoNodeOfASemaphoreOfTwoIsRefused() {
    for (String foreign : List.of(
        A + "-0000000001",
        A + "-p2.0-0000000001",
        A + "-p0-0000000001",
        A + "-w-1",
        "x",
        Names.ofMark(1),
        Names.ofMark(1, 2))) {
      assertThatExceptionOfType(StoreException.class)
          .as(foreign)
          .isThrownBy(() -> line(foreign))
          .withMessageContaining("not a lock's");
    }
    for (String overflowed : List.of("-2147483648", "2147483647")) {
      assertThatExceptionOfType(StoreException.class)
          .as(overflowed)
          .isThrownBy(() -> line(A + "-w-" + overflowed))
          .withMessageContaining("used up");
    }
  }
}
