package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import org.junit.jupiter.api.Test;

class MetersTest {
  private static final int NAMES = 10_000;

  @Test
  void tenThousandNamesOfLocksMakeNoMeters() {
    Runners.inMemory().withBean(MeterRegistry.class, SimpleMeterRegistry::new).run(context -> {
      LockClient locks = context.getBean(LockClient.class);
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      locks.get("orders/0").run(lease -> {});
      awaitHolds(registry, 1);
      List<Meter.Id> meters = ids(registry);

      for (int i = 1; i < NAMES; i++) {
        locks.get("orders/" + i).run(lease -> {});
      }

      awaitHolds(registry, NAMES);
      assertThat(ids(registry)).containsExactlyInAnyOrderElementsOf(meters);
    });
  }

  private static List<Meter.Id> ids(MeterRegistry registry) {
    return registry.getMeters().stream().map(Meter::getId).toList();
  }

  private static void awaitHolds(MeterRegistry registry, int count) {
    Await.until(
        count + " are counted",
        () -> registry.find("holdfast.lock.hold").timers().stream()
                .mapToLong(timer -> timer.count())
                .sum()
            >= count);
  }
}
