package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.zookeeper.common.PathUtils;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LineTest {
  private static final String A = "a".repeat(32) + "-";
  private static final String B = "b".repeat(32) + "-";
  private static final String READER = "0123456789abcdef".repeat(2) + "s";

  @Test
  void placesAreOrderedByTheirNumbersAndNotByTheirIds() throws StoreException {
    Line line = Line.of("/p", List.of(A + "0000000011", B + "0000000009"));
    assertThat(line.places()).extracting(Place::sequence).containsExactly(9, 11);
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
    assertThat(line.places()).extracting(Place::sequence).containsExactly(2, 3);
  }

  @Test
  void aReaderWaitsForTheLastWriterBeforeItAndAWriterForWhoeverIsBeforeIt() throws StoreException {
    // Places 0 to 5: two readers, a writer, a reader, a writer of a later version, a reader.
    List<String> names = List.of(
        READER + "0000000000",
        READER + "0000000001",
        A + "0000000002",
        READER + "0000000003",
        "later-" + READER + "0000000004",
        READER + "0000000005");
    Line line = Line.of("/p", names);
    assertThat(line.places())
        .extracting(Place::shared)
        .containsExactly(true, true, false, true, false, true);
    List<@Nullable Integer> waitsFor = new ArrayList<>();
    for (int i = 0; i <= line.places().size(); i++) {
      waitsFor.add(waitsFor(line, i, Stores.readClaim("any")));
    }
    assertThat(waitsFor)
        .as("which place a reader waits for")
        .containsExactly(null, null, null, 2, 2, 4, 4);
    waitsFor.clear();
    for (int i = 0; i <= line.places().size(); i++) {
      waitsFor.add(waitsFor(line, i, Stores.claim("any")));
    }
    assertThat(waitsFor)
        .as("which place a writer waits for")
        .containsExactly(null, 0, 1, 2, 3, 4, 5);
  }

  private static @Nullable Integer waitsFor(Line line, int index, Claim claim)
      throws StoreException {
    return line.turn(index, claim, Names.NO_PERMIT) instanceof Turn.Behind behind
        ? behind.place().sequence()
        : null;
  }

  @Test
  void theFirstIsInsideAndWithAReaderAllUpToTheNextWriter() throws StoreException {
    String writer = A + "0000000005";
    String later = READER + "0000000006";
    assertThat(Line.of("/p", List.of()).inside()).isEmpty();
    assertThat(Line.of("/p", List.of(later, writer)).inside())
        .extracting(Place::name)
        .containsExactly(writer);
    List<String> readers = List.of(READER + "0000000003", READER + "0000000004");
    assertThat(Line.of("/p", readers).inside()).hasSize(2);
    List<String> all = new ArrayList<>(readers);
    all.addAll(List.of(later, writer));
    assertThat(Line.of("/p", all).inside())
        .extracting(Place::name)
        .containsExactlyElementsOf(readers);
  }

  @Test
  void aClientThatKnowsNoReadersTakesTheirNodesForPlaces() {
    // What it looks for in the name of a node: the number after an owner id, or after anything.
    Pattern sequence = Pattern.compile("[-\\d]\\d{9}$");
    Claim claim = Stores.readClaim("any");
    Matcher found = sequence.matcher(Names.ofAttempt(claim, Names.NO_PERMIT) + "0000000012");
    assertThat(found.find()).isTrue();
    assertThat(found.group()).isEqualTo("0000000012");
    assertThat(Names.ofAttempt(claim, Names.NO_PERMIT)).doesNotStartWith(Names.MARK_PREFIX);
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
    assertThat(line.marks()).extracting(Place::name).containsExactly("hold-000000000000004d");
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
