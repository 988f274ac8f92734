package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.RedisClient;

/**
 * Readers, writers, and writers that know of no readers do what they can do, in an order that a
 * seed repeats; after each step, one of the server's holders is no reader only if it is alone.
 */
@Tag("one-jdk")
class RandomTurnsTest {
  private static final int STEPS = 3_000;
  private static final int WAITING_MAX = 8;
  private static final Duration TTL = Duration.ofMinutes(10);
  private static final String READER = "reader";

  private final LockKey write = Stores.freshKey();
  private final LockKey read = new LockKey(LockKind.READ, write.name());
  private final String list = Stored.keyOf(write);
  private final List<Holding> held = new ArrayList<>();
  private final List<Waiting> waiting = new ArrayList<>();
  private RedisClient redis;
  private LockStore store;
  private long lastNumber;

  /** Grants as the server confirmed them. */
  private interface Holding {
    long number();

    boolean renews() throws Exception;

    boolean releases() throws Exception;
  }

  /** Claims in line. */
  private interface Waiting {
    Optional<Holding> look() throws Exception;

    void giveUp() throws Exception;
  }

  private Claim claim(LockKey key) {
    return new Claim(
        key,
        UUID.randomUUID().toString().replace("-", ""),
        TTL,
        Duration.ZERO,
        key.kind() == LockKind.READ ? READER : "writer");
  }

  private Holding holding(Grant grant) {
    return new Holding() {
      @Override
      public long number() {
        return ((RedisGrant) grant).number();
      }

      @Override
      public boolean renews() throws Exception {
        return store.renew(List.of(grant)).get(0) instanceof Renewal.Renewed
            && store.verify(grant).isPresent();
      }

      @Override
      public boolean releases() throws Exception {
        return store.release(grant, Duration.ZERO) == ReleaseOutcome.RELEASED;
      }
    };
  }

  private Object old(String script, String... arguments) {
    return redis.eval(
        Script.of("without-readers/" + script).text(), List.of(list), List.of(arguments));
  }

  private Holding oldHolding(String owner, long number) {
    return new Holding() {
      @Override
      public long number() {
        return number;
      }

      @Override
      public boolean renews() {
        return old("acquire", owner, "600000", "3600000", "old").equals(number);
      }

      @Override
      public boolean releases() {
        return old("release", owner).equals(1L);
      }
    };
  }

  private Waiting waiting(Ticket ticket) {
    return new Waiting() {
      @Override
      public Optional<Holding> look() throws Exception {
        return ticket.poll() instanceof Ticket.Granted granted
            ? Optional.of(holding(granted.grant()))
            : Optional.empty();
      }

      @Override
      public void giveUp() throws Exception {
        ticket.close();
      }
    };
  }

  private Waiting oldWaiting(String owner) {
    return new Waiting() {
      @Override
      public Optional<Holding> look() {
        Object reply =
            old("acquire", owner, "600000", "3600000", "old", "60000|60000|1|holdfast:inbox:none");
        return reply instanceof Long number
            ? Optional.of(oldHolding(owner, number))
            : Optional.empty();
      }

      @Override
      public void giveUp() {
        Object unused = old("withdraw", owner);
      }
    };
  }

  private void begin(Random random) throws Exception {
    boolean waits = random.nextBoolean() && waiting.size() < WAITING_MAX;
    if (random.nextInt(4) == 0) {
      String owner = claim(write).ownerId();
      Waiting old = oldWaiting(owner);
      if (waits) {
        lookOrWait(old);
      } else if (old("acquire", owner, "600000", "3600000", "old") instanceof Long number) {
        takes(oldHolding(owner, number));
      }
      return;
    }
    Claim claim = claim(random.nextInt(3) == 0 ? write : read);
    if (!waits) {
      store.tryAcquire(claim).ifPresent(grant -> takes(holding(grant)));
      return;
    }
    Acquisition acquisition = store.acquireOrQueue(claim, () -> {});
    if (acquisition instanceof Acquisition.Granted granted) {
      takes(holding(granted.grant()));
    } else {
      waiting.add(waiting(((Acquisition.Queued) acquisition).ticket()));
    }
  }

  private void takes(Holding holding) {
    held.add(holding);
  }

  private void lookOrWait(Waiting waiter) throws Exception {
    Optional<Holding> got = waiter.look();
    if (got.isPresent()) {
      waiting.remove(waiter);
      takes(got.get());
    } else if (!waiting.contains(waiter)) {
      waiting.add(waiter);
    }
  }

  private static <T> T any(Random random, List<T> all) {
    return all.get(random.nextInt(all.size()));
  }

  private void step(Random random) throws Exception {
    int what = random.nextInt(10);
    if (what < 3) {
      begin(random);
    } else if (what < 6 && !waiting.isEmpty()) {
      lookOrWait(any(random, waiting));
    } else if (what == 6 && !waiting.isEmpty()) {
      Waiting gone = any(random, waiting);
      gone.giveUp();
      waiting.remove(gone);
    } else if (!held.isEmpty()) {
      Holding holding = any(random, held);
      switch (what) {
        case 7 -> assertThat(holding.renews()).isTrue();
        case 8 -> {
          assertThat(holding.releases()).isTrue();
          held.remove(holding);
        }
        default -> {
          assertThat(store.forceRelease(random.nextBoolean() ? read : write, holding.number()))
              .isTrue();
          held.remove(holding);
        }
      }
    }
  }

  private void check() throws Exception {
    List<StoredHolder> holders = store.holders(write);
    List<Long> numbers = holders.stream().map(StoredHolder::number).toList();
    if (holders.size() > 1) {
      assertThat(holders).extracting(StoredHolder::description).containsOnly(READER);
    }
    assertThat(numbers).isSorted().doesNotHaveDuplicates();
    assertThat(numbers).containsAll(held.stream().map(Holding::number).toList());
    assertThat(redis.llen(list)).isPositive();
    long newest = Stored.number(redis, list);
    assertThat(newest).isGreaterThanOrEqualTo(lastNumber);
    lastNumber = newest;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void aWriterIsAloneWhateverHappensBefore(long seed) throws Exception {
    Random random = new Random(seed);
    int most = 0;
    try (RedisClient client = Stores.client();
        LockStore opened = Stores.open(client)) {
      redis = client;
      store = opened;
      step(random);
      while (held.isEmpty()) {
        begin(random);
      }
      for (int i = 0; i < STEPS; i++) {
        step(random);
        check();
        most = Math.max(most, store.holders(read).size());
      }
      // Nobody is left behind.
      while (!held.isEmpty() || !waiting.isEmpty()) {
        int before = held.size() + waiting.size();
        for (Holding holding : held) {
          assertThat(holding.releases()).isTrue();
        }
        held.clear();
        for (Waiting waiter : List.copyOf(waiting)) {
          lookOrWait(waiter);
          check();
        }
        Stores.await("somebody's turn", () -> {
          for (Waiting waiter : List.copyOf(waiting)) {
            lookOrWait(waiter);
          }
          return held.size() + waiting.size() < before || !held.isEmpty();
        });
      }
      assertThat(store.holders(write)).isEmpty();
      assertThat(redis.llen(list)).isEqualTo(1);
    }
    assertThat(most).as("readers at a time").isGreaterThan(2);
  }
}
