package io.holdfast.lock.bench.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TaskTest {
  @Test
  void ofManyLocksEachBelongsToOneThread() {
    Task task = Task.of(Task.Action.TOUCH, "").withNames(1_003);

    assertThat(names(task.ofWorker(0, 8, 2), task.ofWorker(1, 8, 2)))
        .containsExactlyInAnyOrder(IntStream.range(0, 1_003).boxed().toArray(Integer[]::new));
  }

  @Test
  void allThreadsWantTheOnlyLock() {
    Task task = Task.of(Task.Action.CYCLES, "").withNames(1);

    assertThat(names(task.ofWorker(0, 2, 2), task.ofWorker(1, 2, 2))).containsExactly(0, 0, 0, 0);
  }

  @Test
  void asManyLocksAsThreadsAreOneForEach() {
    Task task = Task.of(Task.Action.CYCLES, "").withNames(16);

    assertThat(names(task.ofWorker(0, 8, 2), task.ofWorker(1, 8, 2))).doesNotHaveDuplicates();
  }

  private static Integer[] names(Task... workers) {
    return Arrays.stream(workers)
        .flatMap(task -> IntStream.range(0, task.threads())
            .boxed()
            .flatMap(number ->
                IntStream.range(0, task.share(number)).mapToObj(place -> task.name(number, place))))
        .toArray(Integer[]::new);
  }
}
