package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockListener;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RecentLossesTest {

  @Test
  void keepsTheLastOnesAndNoMore() {
    RecentLosses losses = new RecentLosses();

    LongStream.rangeClosed(1, RecentLosses.MOST + 3).forEach(token -> losses.lost(new Lost(token)));

    assertThat(losses.newestFirst())
        .hasSize(RecentLosses.MOST)
        .extracting(RecentLosses.Loss::token)
        .startsWith(RecentLosses.MOST + 3L, RecentLosses.MOST + 2L)
        .endsWith(4L);
  }

  private record Lost(long token) implements LockListener.Lost, LeaseLoss {
    @Override
    public String lockName() {
      return name();
    }

    @Override
    public LockListener.Mode mode() {
      return LockListener.Mode.EXCLUSIVE;
    }

    @Override
    public String name() {
      return "orders/42";
    }

    @Override
    public Reason reason() {
      return Reason.EXPIRED;
    }

    @Override
    public LeaseLoss loss() {
      return this;
    }
  }
}
