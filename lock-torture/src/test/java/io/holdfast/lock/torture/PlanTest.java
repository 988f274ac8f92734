package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
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

  /** Else nobody could repeat what docs/torture.md tells of. */
  @Test
  void aSeedGivesThePlanThatItGaveYesterday() {
    assertThat(Plan.of(StoreKind.POSTGRES, 1, 30).text()).isEqualTo(EXPECTED);
  }

  private static final String EXPECTED = """
      plan of postgres, seed 1, 30 s:
           2.3 s to    9.1 s  delay requests of worker 1 by 1005 ms
           3.0 s to    4.5 s  freeze worker 0
           9.3 s to   10.2 s  refuse connections of worker 0
          10.9 s to   11.5 s  suspend the machine of worker 0
          12.9 s to   13.7 s  hold back requests of worker 0, and lose them
          13.8 s to   17.0 s  lose every 1. reply of worker 1
          16.8 s to   18.0 s  suspend the machine of worker 1
          18.6 s to   21.8 s  refuse connections of worker 2
          22.1 s to   23.5 s  stop server 0
          23.7 s to   26.5 s  suspend the machine of worker 1
          24.9 s to   27.1 s  suspend the machine of worker 0
      """;

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
    Set<Class<?>> planned = new HashSet<>();
    for (long seed = 0; seed < SEEDS; seed++) {
      Plan.of(StoreKind.ZOOKEEPER, seed, 30)
          .steps()
          .forEach(step -> planned.add(step.fault().getClass()));
    }
    assertThat(planned).hasSize(15);
  }

  @Test
  void anOutageMeetsEveryFaultOfAWayAndNoOther() {
    Fault outage = new Fault.Outage();
    assertThat(outage.meets(new Fault.Silence(2))).isTrue();
    assertThat(new Fault.Silence(2).meets(outage)).isTrue();
    assertThat(new Fault.Silence(2).meets(new Fault.Cuts(2))).isTrue();
    assertThat(new Fault.Silence(2).meets(new Fault.Cuts(1))).isFalse();
    assertThat(outage.meets(new Fault.KillWorker(0))).isFalse();
    assertThat(outage.meets(new Fault.KillServer(0))).isFalse();
  }
}
