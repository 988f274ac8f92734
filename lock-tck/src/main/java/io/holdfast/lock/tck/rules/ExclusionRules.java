package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.process.ChildProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Chapter 2: one lease per name, and who has it. */
public abstract class ExclusionRules extends RuleTest {

  /** For JUnit. */
  protected ExclusionRules() {}

  @Rule("L-2.1")
  @Test
  void anotherClientIsRefusedWhileTheLockIsHeld() {
    String name = freshName();
    LockClient holder = client();
    Lease lease = take(holder.get(name, lasting()));
    for (int i = 0; i < 3; i++) {
      assertTaken(client(), name, "held by the first client");
    }
    assertThat(lease.isHeld()).isTrue();
    lease.close();
    Lease next = take(client().get(name));
    assertTaken(holder, name, "held by the next client");
    next.close();
  }

  @Rule("L-2.1")
  @Heavy
  @Test
  void ofManyClientsThatAskAtOnceOnlyOneGetsIt() {
    int clients = 6;
    CyclicBarrier together = new CyclicBarrier(clients);
    List<LockClient> all = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      all.add(patientClient());
    }
    for (int round = 0; round < 15; round++) {
      String name = freshName();
      List<Worker<Optional<Lease>>> asking = new ArrayList<>();
      for (LockClient client : all) {
        asking.add(start(() -> {
          int unused = together.await(LONG.toMillis(), TimeUnit.MILLISECONDS);
          return client.get(name, lasting()).tryLock();
        }));
      }
      List<Lease> leases = new ArrayList<>();
      for (Worker<Optional<Lease>> one : asking) {
        one.get(LONG).ifPresent(leases::add);
      }
      assertThat(leases)
          .as("leases of one name, asked for at once by many clients")
          .hasSize(1);
      leases.forEach(Lease::close);
    }
  }

  @Rule("L-2.2")
  @Test
  void differentNamesAreIndependent() {
    LockClient holder = client();
    LockClient other = client();
    Lease first = take(holder.get(freshName()));
    Lease second = take(other.get(freshName()));
    Lease third = take(other.get(freshName()));
    second.close();
    assertThat(first.isHeld()).isTrue();
    assertThat(third.isHeld()).isTrue();
    first.close();
    third.close();
  }

  @Rule("L-2.3")
  @Test
  void aReleasedLockIsFreeAtOnce() {
    String name = freshName();
    LockClient first = client();
    LockClient second = client();
    for (int i = 0; i < 100; i++) {
      Lease lease = take(first.get(name));
      assertTaken(second, name, "held in round " + i);
      lease.close();
      take(second.get(name)).close();
    }
  }

  @Rule("L-2.4")
  @Heavy
  @Test
  void sectionsOfManyThreadsAndClientsNeverOverlap() {
    String name = freshName();
    int clients = 3;
    int threads = 3;
    int sections = 20;
    AtomicInteger inside = new AtomicInteger();
    AtomicBoolean overlapped = new AtomicBoolean();
    int[] unprotected = new int[1];
    List<Long> tokens = Collections.synchronizedList(new ArrayList<>());
    List<Worker<?>> workers = new ArrayList<>();
    for (int c = 0; c < clients; c++) {
      LockClient client = client();
      for (int t = 0; t < threads; t++) {
        workers.add(start(() -> {
          for (int i = 0; i < sections; i++) {
            client.get(name).run(lease -> {
              if (inside.incrementAndGet() != 1) {
                overlapped.set(true);
              }
              int seen = unprotected[0];
              tokens.add(lease.token());
              pause(Duration.ofNanos(1)); // lets others in, if they can come
              unprotected[0] = seen + 1;
              inside.decrementAndGet();
            });
          }
          return true;
        }));
      }
    }
    workers.forEach(worker -> worker.get(LONG.multipliedBy(2)));
    assertThat(overlapped).as("two sections ran at once").isFalse();
    assertThat(unprotected[0]).as("sections counted").isEqualTo(clients * threads * sections);
    assertThat(tokens).as("tokens in the order of the sections").isSorted().doesNotHaveDuplicates();
  }

  @Rule("L-2.5")
  @Requires(Capability.CHILD_PROCESSES)
  @Heavy
  @Test
  void sectionsOfSeveralProcessesNeverOverlap(@TempDir Path folder) throws IOException {
    String name = freshName();
    int threads = 2;
    int sections = 15;
    List<ChildProcess> children = List.of(child(), child(), child());
    for (ChildProcess child : children) {
      child.send("count", name, threads, sections, folder);
    }
    for (ChildProcess child : children) {
      assertThat(child.reply(LONG.multipliedBy(2))).containsExactly("counted");
    }
    assertThat(Files.readString(folder.resolve("counter")))
        .as("sections counted")
        .isEqualTo(Integer.toString(children.size() * threads * sections));
    assertThat(Files.readAllLines(folder.resolve("tokens")))
        .extracting(Long::parseLong)
        .as("tokens in the order of the sections")
        .isSorted()
        .doesNotHaveDuplicates();
  }

  @Rule("L-2.6")
  @Test
  void inspectTellsWhoHasTheLock() {
    String name = freshName();
    LockClient holder = client(builder -> builder.clientName("who-holds-it"));
    LockClient other = client();
    assertThat(other.get(name).inspect()).as("inspect() of a lock nobody took").isEmpty();
    Lease lease = take(holder.get(name));
    LockHolder seen = other.get(name).inspect().orElseThrow();
    assertThat(seen.description()).contains("who-holds-it");
    assertThat(seen.token()).isEqualTo(lease.token());
    assertThat(seen.isReleased()).isFalse();
    assertThat(seen.remaining()).isPositive();
    assertThat(holder.get(name).inspect())
        .as("inspect() by the holder's client")
        .isPresent();
    lease.close();
    assertThat(other.get(name).inspect()).as("inspect() of a released lock").isEmpty();
  }

  @Rule("L-2.7")
  @Test
  void forceReleaseFreesTheGrantThatWasMeantAndNoOther() {
    String name = freshName();
    LockClient holder = client();
    LockClient admin = client();
    take(holder.get(name)).close(); // an earlier grant
    assertThat(admin.get(name).forceRelease(1))
        .as("forceRelease() of a free lock")
        .isFalse();
    Lease lease = take(holder.get(name));
    long token = admin.get(name).inspect().orElseThrow().token();
    assertThat(admin.get(name).forceRelease(token - 1024))
        .as("an earlier grant's token")
        .isFalse();
    assertThat(admin.get(name).forceRelease(token + 1024))
        .as("a later grant's token")
        .isFalse();
    lease.verify();
    assertTaken(admin, name, "still held");

    assertThat(admin.get(name).forceRelease(token + 7))
        .as("any token of the grant")
        .isTrue();
    Lease next = take(admin.get(name, lasting()));
    assertThat(next.token()).isGreaterThan(lease.token());
    assertThat(admin.get(name).forceRelease(token)).as("the same token again").isFalse();
    eventually(
        "the former holder learns of the loss at its next renewal",
        ttl().plus(slack()),
        () -> !lease.isHeld());
    assertThatExceptionOfType(LockLostException.class).isThrownBy(lease::close);
    next.verify();
    assertTaken(holder, name, "held by the next one");
    next.close();
  }
}
