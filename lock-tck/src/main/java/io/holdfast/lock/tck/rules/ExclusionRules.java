package io.holdfast.lock.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.HeldLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Requires;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.tck.process.ChildProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Chapter 2: one lease per name, and who has it. */
public abstract class ExclusionRules extends RuleTest {

  /** Called by JUnit. */
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
      all.add(client());
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
          .as("Unsafe: leases of one name, asked for at once by many clients")
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
        workers.add(startStep(() -> {
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
        }));
      }
    }
    workers.forEach(worker -> worker.get(LONG.multipliedBy(2)));
    assertThat(overlapped).as("Unsafe: two sections ran at once").isFalse();
    assertThat(unprotected[0])
        .as("Unsafe: sections counted")
        .isEqualTo(clients * threads * sections);
    assertThat(tokens)
        .as("Unsafe: tokens in the order of the sections")
        .isSorted()
        .doesNotHaveDuplicates();
  }

  @Rule("L-2.5")
  @Requires(Capability.CHILD_PROCESSES)
  @Heavy
  @Test
  void sectionsOfSeveralProcessesNeverOverlap(@TempDir Path parent) throws IOException {
    Path folder = Files.createTempDirectory(parent, "trial");
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
        .as("Unsafe: sections counted")
        .isEqualTo(Integer.toString(children.size() * threads * sections));
    assertThat(Files.readAllLines(folder.resolve("tokens")))
        .extracting(Long::parseLong)
        .as("Unsafe: tokens in the order of the sections")
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
    LockClient holder = timedClient();
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

  @Rule("L-2.9")
  @Test
  void aListHasTheHeldLocksThatBeginWithThePrefixAndNoOther() {
    String base = freshName();
    LockClient holder = client(builder -> builder.clientName("who-holds-them"));
    LockClient other = client();
    Map<String, Lease> held = new TreeMap<>();
    List<String> prefixes = new ArrayList<>();
    for (String variant : List.of(
        "",
        "a",
        "A",
        "\u00E4",
        "a\u0308",
        "\u00C4",
        "\u00DF",
        "ss",
        "i",
        "I",
        "\u0131",
        "%",
        "_",
        "a%",
        "a_",
        "*",
        "?",
        "[a]",
        "[",
        "]",
        "^",
        "{a}",
        "/",
        "//",
        "a/",
        ".",
        "..",
        "-",
        "--",
        "a-",
        "-_",
        "\\",
        "\\%",
        "'",
        "\"",
        " ",
        "a ",
        ":",
        "%25",
        "%2F",
        "\u4E2D",
        "\uD83D\uDE00")) {
      prefixes.add(base + variant);
      held.put(base + variant + "x", take(holder.get(base + variant + "x", lasting())));
    }
    prefixes.add(base + "[a]x"); // a whole name
    prefixes.add(base + "x "); // longer than any name
    prefixes.add(base.substring(1)); // only in the middle of names
    for (String prefix : prefixes) {
      assertThat(names(other.list(prefix, 1_000)))
          .as("the held locks whose names begin with '%s'", prefix)
          .containsExactlyElementsOf(
              held.keySet().stream().filter(name -> name.startsWith(prefix)).toList());
    }
    assertThat(names(other.list("", 10_000))).as("all held locks").containsAll(held.keySet());
    for (LockClient asking : List.of(other, holder)) {
      long before = System.nanoTime();
      Map<String, Duration> believed = new TreeMap<>();
      held.forEach((name, lease) -> believed.put(name, lease.remaining()));
      List<HeldLock> listed = asking.list(base, 1_000);
      assertThat(names(listed))
          .as("the names, sorted, whoever asks")
          .containsExactlyElementsOf(held.keySet());
      for (HeldLock lock : listed) {
        assertThat(held)
            .as("the lease of '%s'", lock.name())
            .hasEntrySatisfying(
                lock.name(), lease -> assertThat(lock.token()).isEqualTo(lease.token()));
        assertThat(lock.description()).contains("who-holds-them");
        assertThat(lock.isReleased()).isFalse();
        // A renewal in between only moves the store's deadline further away.
        assertThat(lock.remaining().plus(since(before)))
            .as("the time that the store has left for the holder of '%s'", lock.name())
            .isGreaterThanOrEqualTo(believed.get(lock.name()));
      }
    }
    held.values().forEach(Lease::close);
    assertThat(other.list(base, 1_000)).as("the held locks after their release").isEmpty();
  }

  private static List<String> names(List<HeldLock> locks) {
    return locks.stream().map(HeldLock::name).toList();
  }

  @Rule("L-2.9")
  @Test
  void aListHasAtMostAsManyLocksAsItIsAskedFor() {
    String base = freshName();
    LockClient holder = client();
    LockClient other = client();
    List<Lease> leases = new ArrayList<>();
    List<Lease> others = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      others.add(take(holder.get(base + "%" + i, lasting())));
      leases.add(take(holder.get(base + "-x" + i, lasting())));
    }
    List<String> all = leases.stream().map(Lease::name).toList();
    for (int limit = 1; limit <= 6; limit++) {
      assertThat(names(other.list(base + "-", limit)))
          .as("5 held locks, listed with the limit %s", limit)
          .hasSize(Math.min(limit, 5))
          .isSubsetOf(all)
          .doesNotHaveDuplicates()
          .isSorted();
    }
    leases.forEach(Lease::close);
    others.forEach(Lease::close);
  }

  @Rule("L-2.9")
  @Requires(Capability.TAP)
  @Test
  void aListHasNoLockThatIsFree() throws StoreException {
    String base = freshName();
    LockClient client = client();
    LockClient other = client();
    LockStore store = store();
    Grant expiring = grant(store, claim(base + "-expired", ttl())); // and nobody will release it
    take(client.get(base + "-released")).close();
    Lease forced = take(client.get(base + "-forced"));
    assertThat(other.get(forced.name()).forceRelease(forced.token())).isTrue();
    Lease handedOn = take(client.get(base + "-held-by-the-next"));
    handedOn.close();
    Lease held = take(other.get(handedOn.name(), lasting()));
    eventually(
        "the grant expires at the store",
        expiring.crashBound(ttl()).plus(slack()),
        () -> store.inspect(expiring.claim().key()).isEmpty());
    assertThat(other.list(base, 1_000))
        .as("the one lock that is held, among others that were")
        .singleElement()
        .satisfies(lock -> assertThat(lock.name()).isEqualTo(held.name()))
        .satisfies(lock -> assertThat(lock.token()).isEqualTo(held.token()));
    held.close();
  }

  @Rule("L-2.9")
  @Test
  void aListShowsALockThatIsKeptByItsMinimumHoldAsReleased() {
    String name = freshName();
    LockClient other = client();
    Lease lease = take(client().get(name, lasting().withMinHold(LONG)));
    assertThat(other.list(name, 10))
        .singleElement()
        .satisfies(lock -> assertThat(lock.isReleased()).isFalse());
    lease.close();
    assertThat(other.list(name, 10))
        .as("a lock that was released before its minimum hold was over")
        .singleElement()
        .satisfies(lock -> assertThat(lock.isReleased()).isTrue())
        .satisfies(lock -> assertThat(lock.remaining()).isPositive().isLessThanOrEqualTo(LONG));
    assertThat(other.get(name).forceRelease(lease.token())).isTrue();
    assertThat(other.list(name, 10)).isEmpty();
  }

  @Rule("L-2.9")
  @Test
  void inspectAndListTellSinceWhenALockIsHeld() {
    String name = freshName();
    LockClient other = client();
    Instant asked = Instant.now();
    Lease lease = take(timedClient().get(name));
    Instant since = since(other, name);
    // The wall clock of the store, or of the holder, is close to this one.
    assertThat(since)
        .as("when the lock was granted, asked for at %s", asked)
        .isBetween(asked.minusSeconds(5), Instant.now());
    pause(ttl()); // it is renewed meanwhile
    assertThat(since(other, name)).as("since() after a renewal").isEqualTo(since);
    lease.close();
    Lease next = take(other.get(name));
    assertThat(since(other, name)).as("since() of the next lease").isAfter(since);
    next.close();
  }

  private static Instant since(LockClient client, String name) {
    Instant since = client.get(name).inspect().orElseThrow().since();
    assertThat(client.list(name, 10))
        .singleElement()
        .satisfies(lock ->
            assertThat(lock.since()).as("since() of list() and of inspect()").isEqualTo(since));
    return since;
  }
}
