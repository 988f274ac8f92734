package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The queue of tasks: they are done when they are due, and tried until they succeed. */
class TaskQueueTest {
  private final StandingTime time = new StandingTime();
  private final List<List<String>> done = new ArrayList<>();
  private final TaskQueue<String> queue = new TaskQueue<>(time, 2, this::work);
  private Throwable failure;
  private Runnable meanwhile = () -> {};

  /** A clock that only a test puts ahead. */
  private static final class StandingTime implements TimeSource {
    private long nowNanos;

    void by(Duration more) {
      nowNanos += more.toNanos();
    }

    @Override
    public long nanos() {
      return nowNanos;
    }

    @Override
    public long wallMillis() {
      return nowNanos / 1_000_000;
    }

    @Override
    public void park(Object blocker, long nanos) {
      throw new UnsupportedOperationException();
    }
  }

  private void work(List<String> tasks) throws StoreException {
    meanwhile.run();
    if (failure instanceof StoreException refused) {
      throw refused;
    }
    if (failure instanceof Error error) {
      throw error;
    }
    done.add(List.copyOf(tasks));
  }

  private void add(int count) {
    for (int i = 0; i < count; i++) {
      queue.add("task-" + i, time.nanos());
    }
  }

  private void later() {
    time.by(Duration.ofSeconds(2));
  }

  @Test
  void tasksAreDoneTogetherAndOnce() throws Exception {
    add(5);
    add(5);
    queue.workOff();
    assertThat(done).extracting(List::size).containsExactly(2, 2, 1);
    assertThat(queue.all()).isEmpty();
  }

  @Test
  void aTaskThatIsNotDueIsLeftAlone() throws Exception {
    queue.add("later", time.nanos() + Duration.ofHours(1).toNanos());
    assertThat(queue.isSomethingDue()).isFalse();
    queue.workOff();
    assertThat(done).isEmpty();
    time.by(Duration.ofHours(1));
    queue.workOff();
    assertThat(done).containsExactly(List.of("later"));
  }

  @Test
  void afterAFailureTheOthersComeFirstAndThenTheSameAgain() throws Exception {
    add(4);
    failure = StoreException.refused("a test", null);
    assertThatExceptionOfType(StoreException.class).isThrownBy(queue::workOff);
    failure = null;
    queue.workOff();
    assertThat(done).extracting(List::size).containsExactly(2);
    assertThat(queue.isSomethingDue()).isFalse();
    later();
    queue.workOff();
    assertThat(done).extracting(List::size).containsExactly(2, 2);
    assertThat(queue.all()).isEmpty();
  }

  @Test
  void whateverIsThrownNoTaskIsForgotten() throws Exception {
    add(1);
    failure = new OutOfMemoryError("a test");
    assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(queue::workOff);
    failure = null;
    later();
    queue.workOff();
    assertThat(done).containsExactly(List.of("task-0"));
  }

  @Test
  void aTaskThatIsPutInItsPlaceMeanwhileStays() throws Exception {
    add(1);
    meanwhile = () -> queue.put("task-0", "next", time.nanos());
    queue.workOff();
    assertThat(queue.all()).containsExactly("next");
  }

  @Test
  void aTaskThatSomebodyRemovesMeanwhileIsGone() throws Exception {
    add(1);
    meanwhile = () -> queue.remove("task-0");
    failure = StoreException.refused("a test", null);
    assertThatExceptionOfType(StoreException.class).isThrownBy(queue::workOff);
    assertThat(queue.all()).isEmpty();
  }
}
