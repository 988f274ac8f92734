package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Ownership;
import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.WorkerLog.Entry;
import io.holdfast.lock.torture.WorkerLog.Field;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WorkerLogTest {
  @TempDir
  Path folder;

  @Test
  void whatOneSideWritesTheOtherReads() throws Exception {
    Path file = folder.resolve("log");
    WorkerLog parent = WorkerLog.map(file);
    WorkerLog child = WorkerLog.map(file);
    parent.order(Order.RECOVER);
    assertThat(child.ordered()).isEqualTo(Order.RECOVER);
    child.note(Note.READY_AT, 42);
    assertThat(parent.noted(Note.READY_AT)).isEqualTo(42);

    Call call = new Call(Call.Way.TRY_FOR, Call.Kind.FIXED, Ownership.LEASE, Duration.ZERO);
    Entry entry = child.begin();
    entry.set(Field.NAME, 2);
    entry.set(Field.OPTIONS, call.code());
    entry.set(Field.ASKED_AT, 1_000);
    Entry unfinished = child.begin();
    unfinished.set(Field.THREAD, 1);
    Entry next = child.begin();
    next.set(Field.ASKED_AT, 3_000);
    next.set(Field.TOKEN, 77);
    next.set(Field.ANSWER, Answer.GRANTED);

    assertThat(parent.read(1, 5)).hasSize(2);
    Attempt first = parent.read(1, 5).get(0);
    assertThat(first.id()).hasToString("1-5-0");
    assertThat(first.name()).isEqualTo(2);
    assertThat(first.options()).isEqualTo("try_for fixed by lease");
    assertThat(first.answer()).isEqualTo(Answer.NONE);
    Attempt last = parent.read(1, 5).get(1);
    assertThat(last.id().index()).isEqualTo(2);
    assertThat(last.granted()).isTrue();
    assertThat(last.token()).isEqualTo(77);
  }

  @Test
  void anEntryOfAWriteIsReadAsItWasWritten() {
    Written written = new Written(new Attempt.Id(2, 1, 34), 1_795_000_000_000_000_123L);
    assertThat(Written.parse(written.text())).isEqualTo(written);
  }
}
