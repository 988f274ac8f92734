package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.StoreException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The meaning of ZooKeeper's error codes for a request, without a server. */
class AnswerTest {
  private static StoreException failure(int code) {
    return Answer.of(code, null).failure();
  }

  /** A server that throttles requests says so before it does anything. */
  @ParameterizedTest
  @EnumSource(names = {"NOAUTH", "QUOTAEXCEEDED", "THROTTLEDOP"})
  void whatTheServerDidNotDoIsARefusal(Code code) {
    StoreException failure = failure(code.intValue());
    assertThat(failure.mayHaveHappened()).isFalse();
    assertThat(failure.getCause())
        .isInstanceOfSatisfying(
            KeeperException.class, cause -> assertThat(cause.code()).isEqualTo(code));
  }

  @ParameterizedTest
  @EnumSource(names = {"CONNECTIONLOSS", "OPERATIONTIMEOUT", "SYSTEMERROR"})
  void whatTheServerMayHaveDoneIsNoRefusal(Code code) {
    assertThat(failure(code.intValue()).mayHaveHappened()).isTrue();
  }

  @Test
  void aCodeOfANewerServerIsNoRefusal() {
    assertThat(failure(-9_999).mayHaveHappened()).isTrue();
  }
}
