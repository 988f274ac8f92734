package io.holdfast.lock.bench.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArenaTest {
  @TempDir
  private Path folder;

  private Arena one;
  private Arena other;

  /** Mapped twice, as by two JVMs. */
  @BeforeEach
  void map() throws IOException {
    one = new Arena(folder.resolve("arena"));
    other = new Arena(folder.resolve("arena"));
  }

  @Test
  void whoComesInWhileAnotherIsInsideIsNoticed() {
    assertThat(one.enter(0, Share.ALL)).isTrue();
    assertThat(other.enter(0, Share.ALL)).isFalse();
    assertThat(other.enter(1, Share.ALL)).isTrue();
  }

  @Test
  void whoComesInAfterAnotherLeftIsAlone() {
    assertThat(one.enter(0, Share.ALL)).isTrue();
    one.leave(0, Share.ALL);
    assertThat(other.enter(0, Share.ALL)).isTrue();
  }

  @Test
  void readersAreInsideTogetherAndNotWithAWriter() {
    assertThat(one.enter(0, Share.READ)).isTrue();
    assertThat(other.enter(0, Share.READ)).isTrue();
    one.leave(0, Share.READ);
    assertThat(one.enter(0, Share.ALL)).isFalse();
    other.leave(0, Share.READ);
    assertThat(other.enter(0, Share.READ)).isFalse();
  }

  @Test
  void noMoreAreInsideThanThereArePermits() {
    Share permit = Share.permitOf(2);
    assertThat(one.enter(0, permit)).isTrue();
    assertThat(other.enter(0, permit)).isTrue();
    assertThat(one.enter(0, permit)).isFalse();
  }
}
