package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.bench.scenario.Share;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Holdfast, on any store: a candidate for each kind of lock. */
final class HoldfastClient {
  /** The id of the candidate that is Holdfast as it is. */
  static final String HOLDFAST = "holdfast";

  private HoldfastClient() {}

  /** Returns the candidates on a store that has semaphores, too. */
  static <B extends LockClientBuilder<B>> List<Candidate> candidates(
      Function<String, B> builder, Function<B, SemaphoreClient> build) {
    Candidate permits = candidate(
        HOLDFAST + "-permits",
        "Holdfast",
        Scenario.OF_PERMITS,
        builder.andThen(build),
        (locks, name) ->
            new Handle(locks.semaphore(name, Scenario.PERMITS), Share.permitOf(Scenario.PERMITS)));
    return Stream.concat(withoutSemaphores(builder, build::apply).stream(), Stream.of(permits))
        .toList();
  }

  /**
   * Returns Holdfast as it is, and Holdfast without the hand-off within a JVM, for scenarios in
   * which that would be measured instead of the store; and its read-write locks.
   *
   * @param builder makes a builder of a client of the server with this URL
   * @param build makes its client
   */
  static <B extends LockClientBuilder<B>> List<Candidate> withoutSemaphores(
      Function<String, B> builder, Function<B, ReadWriteClient> build) {
    Function<String, ReadWriteClient> open = builder.andThen(build);
    return List.of(
        candidate(HOLDFAST, "Holdfast", Scenario.ALL, open, HoldfastClient::mutex),
        candidate(
            HOLDFAST + "-no-hand-off",
            "Holdfast, local hand-off off",
            EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            builder.andThen(one -> one.localHandOff(false)).andThen(build),
            HoldfastClient::mutex),
        candidate(
            HOLDFAST + "-reads",
            "Holdfast",
            Scenario.READING,
            open,
            (locks, name) -> reader(locks.readWrite(name))),
        candidate(
            HOLDFAST + "-read-write",
            "Holdfast",
            Scenario.MOSTLY_READING,
            open,
            (locks, name) ->
                Mutex.mostlyReading(reader(locks.readWrite(name)), mutex(locks, name))));
  }

  private static Mutex mutex(LockClient locks, String name) {
    return new Handle(locks.get(name), Share.ALL);
  }

  private static Mutex reader(DistributedReadWriteLock lock) {
    return new Handle(lock.read(), Share.READ);
  }

  private static <C extends LockClient> Candidate candidate(
      String id,
      String label,
      Set<Scenario> scenarios,
      Function<String, C> open,
      BiFunction<C, String, Mutex> handle) {
    return Candidate.of(id, label, Candidate.Role.HOLDFAST, LockClient.class, scenarios, url -> {
      C locks = open.apply(url);
      return name -> handle.apply(locks, name);
    });
  }

  /** One thread's handle on a lock of any kind. */
  private static final class Handle implements Mutex {
    private final Acquirable<?> lock;
    private final Share share;
    private @Nullable AnyLease lease;

    Handle(Acquirable<?> lock, Share share) {
      this.lock = lock;
      this.share = share;
    }

    @Override
    public void lock() throws InterruptedException {
      lease = lock.lock();
    }

    @Override
    public void unlock() {
      Objects.requireNonNull(lease).close();
    }

    @Override
    public Share share() {
      return share;
    }
  }
}
