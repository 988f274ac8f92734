package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.common.PathUtils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("one-jdk")
class LineTest {
  private static final String A = "a".repeat(32) + "-";
  private static final String B = "b".repeat(32) + "-";

  @Test
  void placesAreOrderedByTheirNumbersAndNotByTheirIds() throws StoreException {
    Line line = Line.of("/p", List.of(A + "0000000011", B + "0000000009"));
    assertThat(line.places()).extracting(Line.Place::sequence).containsExactly(9, 11);
    assertThat(line.indexOf(A + "0000000011")).isEqualTo(1);
  }

  @Test
  void aNumberThatOverflowedIsRefusedAndNotPutFirst() {
    for (String overflowed : List.of("-2147483648", "2147483647", "2147483648")) {
      assertThatExceptionOfType(StoreException.class)
          .as(overflowed)
          .isThrownBy(() -> Line.of("/p", List.of(A + "2147000000", B + overflowed)))
          .withMessageContaining("used up")
          .withMessageContaining("/p")
          .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
    }
  }

  @Test
  void aNodeOfSomebodyElseIsRefused() {
    for (String foreign : List.of("x", "lock-0000000001", A, A + "1", A + "+1", "")) {
      assertThatExceptionOfType(StoreException.class)
          .as(foreign)
          .isThrownBy(() -> Line.of("/p", List.of(foreign)))
          .withMessageContaining("not a lock's");
    }
  }

  @Test
  void aReaderWaitsForTheLastWriterBeforeItAndAWriterForWhoeverIsBeforeIt() throws StoreException {
    String reader = A + "+0000000003";
    String second = B + "+0000000004";
    String writer = A + "0000000007";
    String behind = B + "+0000000009";
    Line line = Line.of("/p", List.of(behind, writer, second, reader));
    assertThat(line.before(0)).isNull();
    assertThat(line.before(1)).isNull();
    assertThat(line.before(2).name()).isEqualTo(second);
    assertThat(line.before(3).name()).isEqualTo(writer);
    assertThat(line.readersAtHead()).extracting(Line.Place::name).containsExactly(reader, second);
    assertThat(line.holding()).hasSize(2);
    assertThat(line.hasWriter()).isTrue();
    assertThat(Line.of("/p", List.of(reader)).hasWriter()).isFalse();
    assertThat(Line.of("/p", List.of(writer, behind)).holding())
        .extracting(Line.Place::name)
        .containsExactly(writer);
  }

  @Test
  void aReadersMarkKeepsWritersWaitingAndAWritersMarkBoth() throws StoreException {
    String readers = Names.ofReadersMark(77);
    String writers = Names.ofMark(78);
    Line line = Line.of("/p", List.of(A + "+0000000003", writers, B + "0000000004", readers));
    assertThat(line.marksBefore(0)).containsExactly(writers);
    assertThat(line.marksBefore(1)).containsExactlyInAnyOrder(readers, writers);
    assertThat(Names.numberOfMark(readers)).isEqualTo(77);
  }

  /** The way in which clients read a line that know of no read locks; it must not change. */
  private static final class Before {
    static int sequence(String child) {
      String digits = child.length() > 32 ? child.substring(33) : "";
      assertThat(child.charAt(32) == '-' && digits.length() >= 10).as(child).isTrue();
      return Integer.parseInt(digits);
    }

    static long numberOfMark(String mark) {
      assertThat(mark).startsWith("hold-");
      return Long.parseLong(mark.substring("hold-".length()), 16);
    }
  }

  @Test
  void aClientThatKnowsOfNoReadLocksSeesAReaderAsAnybodyBeforeIt() {
    assertThat(Names.ofReader("a".repeat(32)) + "0000000012").isEqualTo(A + "+0000000012");
    assertThat(Before.sequence(A + "+0000000012")).isEqualTo(12);
    assertThat(Before.sequence(A + "+" + Line.SEQUENCE_MAX)).isEqualTo(Line.SEQUENCE_MAX);
    assertThat(Before.numberOfMark(Names.ofReadersMark(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void marksAreNoPlaces() throws StoreException {
    Line line = Line.of("/p", List.of(Names.ofMark(77), A + "0000000000"));
    assertThat(line.marks()).containsExactly("hold-000000000000004d");
    assertThat(line.places()).hasSize(1);
  }

  @Test
  void differentNamesHaveDifferentNodesThatZooKeeperTakes() {
    List<String> names = List.of(
        ".",
        "..",
        "a/b",
        "a%2fb",
        "a%2Fb",
        "a b",
        "A",
        "a",
        "é",
        "e\u0301",
        "\ud83d\ude00",
        "-",
        "zookeeper",
        "\uffff",
        "a.",
        "a ",
        " a");
    Set<String> nodes = new HashSet<>();
    for (String name : names) {
      String node = Names.of(new LockKey(LockKind.MUTEX, name));
      PathUtils.validatePath("/" + node);
      assertThat(node).doesNotContain("/").startsWith("m-");
      assertThat(Names.key(LockKind.MUTEX, node)).isEqualTo(new LockKey(LockKind.MUTEX, name));
      nodes.add(node);
    }
    assertThat(nodes).hasSize(names.size());
  }
}
