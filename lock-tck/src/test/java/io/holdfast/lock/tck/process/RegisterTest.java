package io.holdfast.lock.tck.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.process.Register.Right;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RegisterTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  @TempDir
  private Path folder;

  private final LockClient locks = InMemoryLocks.builder().build();

  @AfterEach
  void close() {
    locks.close();
  }

  /** The same register each time, as another process sees it. */
  private Register register() {
    return new Register(folder.resolve("register"));
  }

  /** Returns a lease that no other of this test excludes. */
  private Lease lease(String name, Duration ttl) throws InterruptedException {
    return locks.get(name, LockOptions.fixed(ttl)).lock();
  }

  @ParameterizedTest
  @CsvSource({"WRITE, WRITE", "WRITE, READ", "READ, WRITE", "PERMIT_1, PERMIT_1"})
  void whatExcludesEachOtherIsNoticed(Right first, Right second) throws Exception {
    lease("second", LONG).close(); // Its next token is higher.

    assertThat(register().enter(0, first, lease("first", LONG))).isNull();

    assertThat(register().enter(1, second, lease("second", LONG)))
        .contains("seat 1 has " + second, "seat 0 has " + first);
  }

  @ParameterizedTest
  @CsvSource({"READ, READ", "PERMIT_1, PERMIT_2", "PERMIT_0, WRITE", "READ, PERMIT_2"})
  void whatDoesNotExcludeEachOtherIsFine(Right first, Right second) throws Exception {
    assertThat(register().enter(0, first, lease("first", LONG))).isNull();
    assertThat(register().enter(1, second, lease("second", LONG))).isNull();
  }

  @Test
  void whoLeftIsInNobodysWay() throws Exception {
    lease("second", LONG).close();
    assertThat(register().enter(0, Right.WRITE, lease("first", LONG))).isNull();
    assertThat(register().held(0, 2)).containsExactly(Right.WRITE);
    register().leave(0);
    assertThat(register().enter(1, Right.WRITE, lease("second", LONG))).isNull();
    assertThat(register().turns(Right.WRITE)).isEqualTo(2);
  }

  @Test
  void whoWasKilledIsInTheWayUntilItsLeaseWouldHaveEnded() throws Exception {
    lease("second", LONG).close();
    Lease second = lease("second", LONG);
    Lease killed = lease("first", Duration.ofSeconds(6));
    assertThat(register().enter(0, Right.READ, killed)).isNull();

    assertThat(register().enter(1, Right.WRITE, second)).contains("seat 0 has READ");
    while (killed.isHeld()) {
      Thread.onSpinWait();
    }
    assertThat(register().enter(1, Right.WRITE, second)).doesNotContain("seat 0");
  }

  @Test
  void aLeaseThatEndedProvesNothing() throws Exception {
    assertThat(register().enter(0, Right.WRITE, lease("first", LONG))).isNull();
    Lease ended = lease("second", LONG);
    ended.close();

    assertThat(register().enter(1, Right.WRITE, ended)).isNull();
  }

  @Test
  void tokensThatDoNotRiseAreNoticed() throws Exception {
    Lease early = lease("early", LONG);
    lease("late", LONG).close();
    Lease late = lease("late", LONG);
    for (Right right : EnumSet.of(Right.WRITE, Right.PERMIT_0)) {
      assertThat(turn(right, late)).isNull();
      assertThat(turn(right, early)).contains(right + " has token");
      assertThat(turn(right, late)).as("the same token again").contains(right + " has token");
    }
  }

  @Test
  void aReadersTokenIsAboveThatOfTheWriterBeforeAndBelowThatOfTheNext() throws Exception {
    Lease early = lease("early", LONG);
    lease("late", LONG).close();
    Lease late = lease("late", LONG);

    assertThat(turn(Right.WRITE, early)).isNull();
    assertThat(turn(Right.READ, early)).contains("READ has token");
    assertThat(turn(Right.READ, late)).isNull();
    assertThat(turn(Right.READ, late)).as("readers of one grant").isNull();
    assertThat(turn(Right.WRITE, late)).contains("WRITE has token");
  }

  private @Nullable String turn(Right right, Lease lease) {
    try {
      return register().enter(0, right, lease);
    } finally {
      register().leave(0);
    }
  }
}
