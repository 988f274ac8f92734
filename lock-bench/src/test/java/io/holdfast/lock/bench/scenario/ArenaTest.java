package io.holdfast.lock.bench.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArenaTest {
  @TempDir
  private Path folder;

  @Test
  void whoComesInWhileAnotherIsInsideIsNoticedByBoth() throws Exception {
    // Mapped twice, as by two JVMs.
    Arena one = new Arena(folder.resolve("arena"));
    Arena other = new Arena(folder.resolve("arena"));

    assertThat(one.enter(0, 1)).isTrue();
    assertThat(other.enter(0, 2)).isFalse();
    assertThat(one.leave(0, 1)).isFalse();
  }

  @Test
  void whoComesInAfterAnotherLeftIsAlone() throws Exception {
    Arena one = new Arena(folder.resolve("arena"));
    Arena other = new Arena(folder.resolve("arena"));

    assertThat(one.enter(0, 1)).isTrue();
    assertThat(one.leave(0, 1)).isTrue();
    assertThat(other.enter(0, 2)).isTrue();
    assertThat(other.leave(0, 2)).isTrue();
  }
}
