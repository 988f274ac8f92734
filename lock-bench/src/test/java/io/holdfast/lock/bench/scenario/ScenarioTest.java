package io.holdfast.lock.bench.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import org.junit.jupiter.api.Test;

class ScenarioTest {
  @Test
  void whatIsForMutexesHasNothingOfOtherLocks() {
    assertThat(Scenario.OF_MUTEXES)
        .containsAll(Scenario.QUICK)
        .containsAll(Scenario.ALL_BUT_LEASES)
        .doesNotContain(Scenario.PERMITS, Scenario.READERS);
    assertThat(Scenario.ALL_BUT_LEASES).doesNotContain(Scenario.LEASES, Scenario.PERMITS);
  }

  @Test
  void eachScenarioIsOfOneKindOfLock() {
    assertThat(Scenario.of(EnumSet.allOf(Locks.class))).containsExactly(Scenario.values());
    assertThat(Scenario.of(EnumSet.of(Locks.SEMAPHORES))).containsExactly(Scenario.PERMITS);
  }
}
