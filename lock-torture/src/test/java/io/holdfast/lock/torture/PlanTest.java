package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.torture.Fault.Kind;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PlanTest {
  private static final int SEEDS = 300;

  @Test
  void aPlanIsAFunctionOfStoreSeedAndLength() {
    assertThat(Plan.of(StoreKind.REDIS, 7, 30)).isEqualTo(Plan.of(StoreKind.REDIS, 7, 30));
    assertThat(Plan.of(StoreKind.REDIS, 7, 30).steps())
        .isNotEqualTo(Plan.of(StoreKind.REDIS, 8, 30).steps())
        .isNotEqualTo(Plan.of(StoreKind.MYSQL, 7, 30).steps());
  }

  /** Keeps the results in docs/torture.md repeatable. */
  @Test
  void aSeedGivesThePlanThatItGaveYesterday() {
    assertThat(Plan.of(StoreKind.POSTGRES, 1, 30).text()).isEqualTo(EXPECTED);
  }

  private static final String EXPECTED = """
      plan of postgres, seed 1, 30 s:
           2.3 s to    9.1 s  delay requests of worker 1 by 1195 ms
           8.0 s to    8.5 s  fill the heap of worker 1
          10.9 s to   11.5 s  freeze worker 0
          13.3 s to   13.9 s  half-close connections of worker 1 for requests
          13.6 s to   23.9 s  pause server 0
          15.5 s to   18.7 s  silence between worker 0 and the servers
          19.9 s to   24.1 s  silence between worker 0 and the servers
          24.7 s to   26.2 s  freeze worker 1
      """;

  @Test
  void theResultsThatAreKeptHaveThePlansThatTheyHad() {
    StringBuilder plans = new StringBuilder();
    for (StoreKind store : StoreKind.values()) {
      for (long seed : new long[] {1_000_000, 1_000_001, 1_000_002}) {
        plans.append(Plan.of(store, seed, 30).text());
      }
    }
    assertThat(plans.toString().hashCode()).isEqualTo(KEPT);
  }

  private static final int KEPT = 1_750_319_806;

  @Test
  void noMoreThanTwoThingsAreBrokenAtOneTime() {
    for (StoreKind store : StoreKind.values()) {
      for (long seed = 0; seed < SEEDS; seed++) {
        List<Plan.Step> steps = Plan.of(store, seed, 30).steps();
        for (Plan.Step step : steps) {
          assertThat(steps.stream()
                  .filter(other -> other.beginMillis() <= step.beginMillis()
                      && step.beginMillis() < other.endMillis())
                  .count())
              .isLessThanOrEqualTo(2);
          assertThat(step.endMillis()).isGreaterThan(step.beginMillis()).isLessThan(30_000);
        }
      }
    }
  }

  @Test
  void nothingIsBrokenThatIsBrokenAlready() {
    for (long seed = 0; seed < SEEDS; seed++) {
      List<Plan.Step> steps = Plan.of(StoreKind.CONSUL_3, seed, 60).steps();
      for (int i = 0; i < steps.size(); i++) {
        for (int j = 0; j < i; j++) {
          Plan.Step one = steps.get(j);
          Plan.Step other = steps.get(i);
          if (one.fault().meets(other.fault())) {
            assertThat(one.endMillis()).as(one + " and " + other).isLessThan(other.beginMillis());
          }
        }
      }
    }
  }

  @Test
  void everyKindOfFaultIsPlanned() {
    Set<Kind> planned = EnumSet.noneOf(Kind.class);
    for (StoreKind store : StoreKind.values()) {
      planned.addAll(kinds(store, 0));
    }
    assertThat(planned).isEqualTo(EnumSet.complementOf(EnumSet.of(Kind.SET_SERVER_CLOCK)));
    assertThat(kinds(StoreKind.ZOOKEEPER, 0)).hasSize(19);
    assertThat(kinds(StoreKind.ZOOKEEPER, Plan.SERVER_CLOCKS_SEED))
        .hasSize(20)
        .contains(Kind.SET_SERVER_CLOCK);
    assertThat(kinds(StoreKind.CONSUL, Plan.SERVER_CLOCKS_SEED)).hasSize(19);
  }

  @Test
  void storesOfSeveralServersHaveFaultsOfTheirOwn() {
    assertThat(faultsOfServers(StoreKind.ZOOKEEPER)).isEmpty();
    assertThat(faultsOfServers(StoreKind.CONSUL_3)).containsExactly(Kind.ROLLING_RESTART);
    assertThat(faultsOfServers(StoreKind.POSTGRES_2))
        .containsExactly(Kind.SWITCH_OVER, Kind.SWITCH_OVER_READ_ONLY);
    assertThat(faultsOfServers(StoreKind.REDIS_CLUSTER))
        .containsExactly(Kind.ROLLING_RESTART, Kind.MOVE_SLOT);
  }

  private static Set<Kind> faultsOfServers(StoreKind store) {
    Set<Kind> kinds = kinds(store, 0);
    kinds.removeIf(kind -> kind.target() != Fault.Target.SERVERS);
    return kinds;
  }

  private static Set<Kind> kinds(StoreKind store, long firstSeed) {
    Set<Kind> kinds = EnumSet.noneOf(Kind.class);
    for (long seed = firstSeed; seed < firstSeed + SEEDS; seed++) {
      Plan.of(store, seed, 30).steps().forEach(step -> kinds.add(step.fault().kind()));
    }
    return kinds;
  }

  @Test
  void aPlanOfOneKindOfFaultHasNoOther() {
    Plan plan = Plan.of(StoreKind.REDIS, 7, 60, Set.of(Kind.byOption("kill-worker")));
    assertThat(plan.steps())
        .hasSizeGreaterThan(5)
        .allMatch(step -> step.fault().kind() == Kind.KILL_WORKER);
  }

  @Test
  void someJumpsOfAServersClockAreHarmlessAndNoneIsLongerThanTenSeconds() {
    List<Integer> jumps = LongStream.range(0, SEEDS)
        .mapToObj(seed -> Plan.of(StoreKind.REDIS, Plan.SERVER_CLOCKS_SEED + seed, 30))
        .flatMap(plan -> plan.steps().stream())
        .map(Plan.Step::fault)
        .filter(fault -> fault.kind() == Kind.SET_SERVER_CLOCK)
        .map(fault -> Math.abs(fault.amount()))
        .toList();
    assertThat(jumps).allMatch(millis -> millis <= 10_000);
    assertThat(jumps).anyMatch(millis -> millis <= ServerClocks.HARMLESS_MILLIS);
    assertThat(jumps).anyMatch(millis -> millis > 5_000);
  }

  @Test
  void aClockThatIsSetBackMakesTheRecoveryLonger() {
    Plan.Step jump = new Plan.Step(1_000, 2_000, Kind.SET_SERVER_CLOCK.of(0, -7_000));
    assertThat(new Plan(StoreKind.REDIS, 1, 30, List.of(jump)).recoveryMax())
        .isEqualTo(StoreKind.REDIS.recoveryMax().plusSeconds(7));
  }

  @Test
  void aLongScheduleHasOutagesOfMinutes() {
    for (StoreKind store : StoreKind.values()) {
      for (long seed = 0; seed < 20; seed++) {
        assertThat(Plan.of(store, seed, 600).steps().stream()
                .filter(step -> step.fault().kind() == Kind.OUTAGE)
                .filter(step -> step.endMillis() - step.beginMillis() >= 60_000))
            .hasSizeGreaterThanOrEqualTo(2);
      }
    }
  }

  @Test
  void anOutageMeetsEveryFaultOfAWayAndNoOther() {
    Fault outage = Kind.OUTAGE.of(0);
    assertThat(outage.meets(Kind.SILENCE.of(2))).isTrue();
    assertThat(Kind.SILENCE.of(2).meets(outage)).isTrue();
    assertThat(Kind.SILENCE.of(2).meets(Kind.CUTS.of(2))).isTrue();
    assertThat(Kind.SILENCE.of(2).meets(Kind.CUTS.of(1))).isFalse();
    assertThat(outage.meets(Kind.KILL_WORKER.of(0))).isFalse();
    assertThat(outage.meets(Kind.KILL_SERVER.of(0))).isFalse();
  }
}
