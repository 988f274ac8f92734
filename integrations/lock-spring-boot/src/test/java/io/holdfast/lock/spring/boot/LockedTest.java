package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.spring.Locked;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.stereotype.Service;

/** The annotation works without being switched on. */
class LockedTest {

  @Test
  void anAnnotatedMethodRunsWithItsLock() {
    Runners.inMemory()
        .withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class))
        .withBean(Orders.class)
        .run(context -> {
          assertThat(context).hasNotFailed();
          assertThat(context.getBean(Orders.class).isLockedWhileShipping("42")).isTrue();
          assertThat(context.getBean(LockClient.class).get("orders/42").inspect())
              .isEmpty();
        });
  }

  // tag::boot-locked[]
  @Service
  static class Orders {
    private final LockClient locks;

    Orders(LockClient locks) {
      this.locks = locks;
    }

    @Locked("orders/#{#id}")
    public boolean isLockedWhileShipping(String id) {
      return locks.get("orders/" + id).inspect().isPresent();
    }
  }
  // end::boot-locked[]
}
