package io.holdfast.lock.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AttemptIdsTest {
  private static final int MORE_THAN_ARE_MADE_AT_ONCE = 10_000;

  @Test
  void noTwoIdsAreEqualWhoeverAsks() {
    AttemptIds ids = new AttemptIds();

    Set<String> seen = ConcurrentHashMap.newKeySet();
    IntStream.range(0, MORE_THAN_ARE_MADE_AT_ONCE).parallel().forEach(i -> seen.add(ids.next()));

    assertThat(seen).hasSize(MORE_THAN_ARE_MADE_AT_ONCE).allMatch(id -> id.matches("[0-9a-f]{32}"));
  }
}
