package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.redis.server.Server.Answer;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The conclusion from the answer to a call about a grant; no server. */
class AnswerTest {
  @Test
  void oneIsYesAndZeroIsNo() throws Exception {
    assertThat(new Answer(1L, false).released()).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(new Answer(0L, false).released()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(new Answer(1L, false).forceReleased()).isTrue();
    assertThat(new Answer(0L, false).forceReleased()).isFalse();
  }

  @Test
  void whatIsNotThereWhenItIsReleasedASecondTimeMayHaveBeenReleasedByTheFirst() throws Exception {
    assertThat(new Answer(1L, true).released()).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(new Answer(0L, true).released()).isEqualTo(ReleaseOutcome.RELEASED_OR_LOST);
  }

  @ParameterizedTest
  @ValueSource(strings = {"OK", "1"})
  void anyOtherReplyIsAFailureAndNoLoss(String reply) {
    Answer answer = new Answer(reply, false);
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(answer::released)
        .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
    assertThatExceptionOfType(StoreException.class).isThrownBy(answer::forceReleased);
    assertThatExceptionOfType(StoreException.class).isThrownBy(answer::left);
  }
}
