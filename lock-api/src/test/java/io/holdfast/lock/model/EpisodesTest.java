package io.holdfast.lock.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/**
 * Torture without servers: several clients of the real engine, all of their threads, a store, and
 * all that can go wrong between them, on simulated time and by seed. Whatever it is, no two hold at
 * a time, and afterwards all is well and nothing is left.
 *
 * <p>{@code dev/model} plays more of them, and tells one; {@code dev/model --undo} has it find
 * mistakes in the engine.
 */
@Timeout(300)
@EnabledForJreRange(
    min = JRE.JAVA_25,
    disabledReason = "its threads are virtual ones, with a scheduler of ours")
class EpisodesTest {
  private static final long EPISODES = Long.getLong("episodes", 1_000);

  /** One episode of so many, at least, has each of the things that can happen. */
  private static final long SEEN_IN_ONE_OF = 50;

  @Test
  void noEpisodeBreaksARule() {
    Script script = new Script();
    Seen.reset();
    for (long seed = 0; seed < EPISODES; seed++) {
      if (script.run(seed) != null) {
        fail(script.told(seed));
      }
    }
    System.out.println(script.steps() + " steps: " + Seen.counts());

    assertThat(Seen.below(EPISODES / SEEN_IN_ONE_OF))
        .as("what the episodes hardly meet")
        .isEmpty();
  }
}
