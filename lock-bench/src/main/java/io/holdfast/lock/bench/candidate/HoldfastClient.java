package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Holdfast, on any store. */
final class HoldfastClient implements Client {
  /** The id of the candidate that is Holdfast as it is. */
  static final String HOLDFAST = "holdfast";

  private final LockClient locks;

  private HoldfastClient(LockClient locks) {
    this.locks = locks;
  }

  /**
   * Returns Holdfast as it is, and Holdfast without the hand-off within a JVM, for scenarios in
   * which that would be measured instead of the store.
   *
   * @param builder makes a builder of a client of the server with this URL
   */
  static List<Candidate> candidates(Function<String, LockClientBuilder<?>> builder) {
    return List.of(
        candidate(HOLDFAST, "Holdfast", Scenario.ALL, builder, true),
        candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            builder,
            false));
  }

  private static Candidate candidate(
      String id,
      String label,
      Set<Scenario> scenarios,
      Function<String, LockClientBuilder<?>> builder,
      boolean localHandOff) {
    return Candidate.of(
        id,
        label,
        Candidate.Role.HOLDFAST,
        LockClient.class,
        scenarios,
        url -> new HoldfastClient(builder.apply(url).localHandOff(localHandOff).build()));
  }

  @Override
  public Mutex mutex(String name) {
    DistributedLock lock = locks.get(name);
    return new Mutex() {
      private @Nullable Lease lease;

      @Override
      public void lock() throws InterruptedException {
        lease = lock.lock();
      }

      @Override
      public void unlock() {
        Objects.requireNonNull(lease).close();
      }
    };
  }
}
