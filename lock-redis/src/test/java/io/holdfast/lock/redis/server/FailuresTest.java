package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.exceptions.JedisDataException;

/** The meaning of errors that a server answers; no server. */
class FailuresTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "LOADING Redis is loading the dataset in memory; false",
        "READONLY You can't write against a read only replica. script: abc, on @user_script:3.; false",
        "OOM command not allowed when used memory > 'maxmemory'. script: abc; false",
        "NOPERM User x has no permissions to run the 'evalsha' command; false",
        "CLUSTERDOWN The cluster is down; false",
        "TRYAGAIN Multiple keys request during rehashing of slot; false",
        "NOPERM ACL failure in script: No permissions script: abc, on @user_script:9.; true",
        "WRONGTYPE Operation against a key holding the wrong kind script: abc; true",
        "ERR something script: abc, on @user_script:9.; true"
      })
  void anErrorFromTheMiddleOfAScriptMayHaveChangedSomething(String error, boolean mayHave) {
    assertThat(Failures.answered(new JedisDataException(error)).mayHaveHappened())
        .isEqualTo(mayHave);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "MISCONF Redis is configured to save RDB snapshots; can't save its data",
        "MISCONF Errors writing to the AOF file: No space left on device; can't save its data",
        "NOREPLICAS Not enough good replicas to write. script: abc; min-replicas-to-write"
      })
  void aServerThatTakesNoWritesSaysWhyInPlainWords(String error, String words) {
    assertThat(Failures.answered(new JedisDataException(error)))
        .hasMessageContaining(error)
        .hasMessageContaining(words);
  }
}
