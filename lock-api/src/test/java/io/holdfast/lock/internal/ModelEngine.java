package io.holdfast.lock.internal;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.renewal.KeeperProbe;
import io.holdfast.lock.internal.task.WorkersProbe;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.ClocksProbe;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreEvents;
import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.BiFunction;

/** A client whose threads are made by a test, and that draws owner ids from a seed. */
public final class ModelEngine {
  private ModelEngine() {}

  private static final class Seeded extends SecureRandom {
    private static final long serialVersionUID = 1;
    private final Random random;

    Seeded(long seed) {
      super(null, null);
      this.random = new Random(seed);
    }

    @Override
    public void nextBytes(byte[] bytes) {
      random.nextBytes(bytes);
    }
  }

  /**
   * Starts one.
   *
   * @param threads makes a thread for a task, and for a sort of them
   */
  public static SemaphoreClient start(
      Engine.Settings settings,
      String name,
      long seed,
      PermitStore store,
      BiFunction<Runnable, String, Thread> threads) {
    Claims claims = new Claims(name, "model");
    try {
      field(claims, "random").set(claims, new Seeded(seed));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
    EngineSemaphoreClient client =
        new EngineSemaphoreClient(settings, new Clocks(settings.time()), name, claims, store);
    Parts parts = client.parts;
    WorkersProbe.change(parts.settlers(), factory -> task -> threads.apply(task, "settlement"));
    WorkersProbe.change(parts.cleaners(), factory -> task -> threads.apply(task, "clean-up"));
    WorkersProbe.change(
        parts.callbackThreads(), factory -> task -> threads.apply(task, "callback"));
    KeeperProbe.change(parts.keeper(), factory -> task -> threads.apply(task, "renewal"));
    KeeperProbe.runOn(parts.keeper(), task -> threads.apply(task, "keeper"));
    client.start();
    return client;
  }

  /** To be told by the store. */
  public static StoreEvents events(LockClient client) {
    return (StoreEvents) client;
  }

  /** An acquisition of a client. */
  public record Held(Handle handle) {
    /** Whether its user would be told now that it is held. Changes nothing. */
    public boolean seemsToStand(long nowNanos, long machinesWallAheadNanos) {
      ActiveGrant grant = handle.hold().grant();
      GrantState state = grant.state();
      return !handle.isClosed()
          && (state.phase() == Phase.CONFIRMED || state.phase() == Phase.UNANSWERED)
          && !state.validity().isPast(nowNanos)
          && !state.validity().isOutrun(ClocksProbe.wallAheadNanos(grant, machinesWallAheadNanos));
    }

    /** Whether no doubt about it is known, and no end. */
    public boolean isConfirmed() {
      return handle.hold().grant().state().phase() == Phase.CONFIRMED;
    }

    /** The time at which its grant arrived, by its machine's monotonic clock. */
    public long grantedAtNanos() {
      return handle.hold().grant().grantedAtNanos();
    }

    /** Its grant. */
    public Grant grant() {
      return handle.hold().grant().grant();
    }

    /** Its grant's number. */
    public long number() {
      return handle.hold().grant().grant().number();
    }

    /** Its token. */
    public long token() {
      return handle.hold().token();
    }

    @Override
    public String toString() {
      GrantState state = handle.hold().grant().state();
      return "token " + token() + " (" + number() + "), " + state.phase() + " until "
          + state.validity().deadlineNanos();
    }
  }

  /** The inside of a lease of one name. */
  public static Held held(AnyLease lease) {
    return new Held(((HandleLease) lease).handle);
  }

  /** The inside of a lease, for each lock that it is of. */
  public static List<Held> allHeld(AnyLease lease) {
    List<?> leases =
        lease instanceof EngineJointLease ? (List<?>) read(lease, "leases") : List.of(lease);
    return leases.stream().map(one -> new Held(((HandleLease) one).handle)).toList();
  }

  /** Does what a garbage collector does with a lease that its user dropped. */
  public static void drop(AnyLease lease) {
    for (Held held : allHeld(lease)) {
      boolean unused = ((Reference<?>) read(held.handle(), "leaseReference")).enqueue();
    }
  }

  private static Object read(Object object, String name) {
    try {
      return field(object, name).get(object);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  private static Field field(Object object, String name) throws NoSuchFieldException {
    Field field = object.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** The lease that a thread owns through {@code asLock()}. */
  public static Held held(LockClient client, String name, Claim.Mode mode, Thread thread) {
    LockKey key = new LockKey(LockKind.MUTEX, name);
    return new Held(
        Objects.requireNonNull(((EngineClient) client).leases.lastThreadOwned(key, mode, thread)));
  }

  /** The rest of work that is over; empty: nothing. */
  public static String left(LockClient client) {
    EngineClient engine = (EngineClient) client;
    StringBuilder left = new StringBuilder();
    for (WaitQueue queue : engine.parts.queues().all()) {
      left.append("a queue for ").append(queue.key().name()).append("; ");
    }
    if (EngineProbe.kept(client) > 0) {
      left.append(EngineProbe.kept(client)).append(" grants that are kept; ");
    }
    if (!engine.parts.cleanup().isOver()) {
      left.append("clean-up of ").append(engine.parts.cleanup().leftUndone()).append("; ");
    }
    if (!EngineProbe.areWorkersIdle(client)) {
      left.append("tasks; ");
    }
    return left.toString();
  }

  /** Has its threads end, whatever they are at: the process is dead. */
  public static void bury(LockClient client) {
    EngineProbe.keepNoIdleThreads(client);
  }
}
