package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.bench.scenario.Locks;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

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
   * @param kinds the kinds of lock that Holdfast has on the store
   * @param builder makes a builder of a client of the server with this URL
   */
  static List<Candidate> candidates(
      Set<Locks> kinds, Function<String, LockClientBuilder<?>> builder) {
    return List.of(
        candidate(HOLDFAST, "Holdfast", Scenario.of(kinds), builder, true),
        candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            withoutHandOff(kinds),
            builder,
            false));
  }

  private static Set<Scenario> withoutHandOff(Set<Locks> kinds) {
    Set<Scenario> scenarios = Scenario.of(kinds);
    scenarios.retainAll(EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS, Scenario.PERMITS));
    return scenarios;
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
  public Handle mutex(String name) {
    return handle(locks.get(name));
  }

  @Override
  public Handle permit(String name, int permits) {
    return handle(locks.semaphore(name, permits));
  }

  @Override
  public Handle read(String name) {
    return handle(locks.readWrite(name).read());
  }

  @Override
  public Handle write(String name) {
    return handle(locks.readWrite(name).write());
  }

  private static Handle handle(DistributedLock lock) {
    return Handle.keeping(lock::lock, Lease::close);
  }
}
