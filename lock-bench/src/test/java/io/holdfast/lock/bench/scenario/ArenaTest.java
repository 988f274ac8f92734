package io.holdfast.lock.bench.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArenaTest {
  @TempDir
  private Path folder;

  private Arena one;
  private Arena other;

  @BeforeEach
  void mapTwiceAsByTwoJvms() throws Exception {
    one = new Arena(folder.resolve("arena"));
    other = new Arena(folder.resolve("arena"));
  }

  @Test
  void whoComesInWhileAnotherIsInsideIsNoticedByBoth() {
    assertThat(one.enter(0, Use.MUTEX)).isTrue();
    assertThat(other.enter(0, Use.MUTEX)).isFalse();
    assertThat(one.leave(0, Use.MUTEX)).isFalse();
  }

  @Test
  void whoComesInAfterAnotherLeftIsAlone() {
    assertThat(one.enter(0, Use.MUTEX)).isTrue();
    assertThat(one.leave(0, Use.MUTEX)).isTrue();
    assertThat(other.enter(0, Use.MUTEX)).isTrue();
    assertThat(other.leave(0, Use.MUTEX)).isTrue();
  }

  @Test
  void ofThreePermitsAFourthIsNoticed() {
    assertThat(one.enter(0, Use.PERMIT)).isTrue();
    assertThat(one.enter(0, Use.PERMIT)).isTrue();
    assertThat(other.enter(0, Use.PERMIT)).isTrue();
    assertThat(other.enter(0, Use.PERMIT)).isFalse();
    assertThat(one.leave(0, Use.PERMIT)).isFalse();
    assertThat(one.leave(0, Use.PERMIT)).isTrue();
  }

  @Test
  void aReaderBesideReadersIsAllowedAndBesideAWriterNoticed() {
    assertThat(one.enter(0, Use.READ)).isTrue();
    assertThat(other.enter(0, Use.READ)).isTrue();
    assertThat(one.leave(0, Use.READ)).isTrue();
    assertThat(other.leave(0, Use.READ)).isTrue();
    assertThat(one.enter(0, Use.WRITE)).isTrue();
    assertThat(other.enter(0, Use.READ)).isFalse();
    assertThat(one.leave(0, Use.WRITE)).isFalse();
  }

  @Test
  void aWriterBesideAReaderOrAWriterIsNoticed() {
    assertThat(one.enter(0, Use.READ)).isTrue();
    assertThat(other.enter(0, Use.WRITE)).isFalse();
    assertThat(one.leave(0, Use.READ)).isFalse();
    assertThat(one.enter(0, Use.WRITE)).isFalse();
    assertThat(other.leave(0, Use.WRITE)).isFalse();
    assertThat(one.leave(0, Use.WRITE)).isTrue();
  }
}
