package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.common.PathUtils;
import org.junit.jupiter.api.Test;

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
    for (String overflowed : List.of("-2147483648", "-000000001", "2147483647", "2147483648")) {
      assertThatExceptionOfType(StoreException.class)
          .as(overflowed)
          .isThrownBy(() -> Line.of("/p", List.of(A + "2147000000", B + overflowed)))
          .withMessageContaining("used up")
          .withMessageContaining("/p")
          .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
    }
  }

  @Test
  void aNodeOfALaterVersionHasItsPlaceInTheOrder() throws StoreException {
    Line line =
        Line.of("/p", List.of(A + "0000000003", "read-" + B.replace('-', 's') + "0000000002"));
    assertThat(line.places()).extracting(Line.Place::sequence).containsExactly(2, 3);
  }

  @Test
  void theContentOfALaterVersionHasItsTimesWhereTheyAreToday() {
    NodeData data = NodeData.of("holdfast 2\n5000 7\nthem".getBytes(StandardCharsets.UTF_8));
    assertThat(data)
        .isEqualTo(new NodeData(Duration.ofSeconds(5), Instant.ofEpochMilli(7), "them"));
  }

  @Test
  void aNodeOfSomebodyElseIsRefused() {
    for (String foreign : List.of("x", "lock", A, A + "1", "")) {
      assertThatExceptionOfType(StoreException.class)
          .as(foreign)
          .isThrownBy(() -> Line.of("/p", List.of(foreign)))
          .withMessageContaining("not a lock's");
    }
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
