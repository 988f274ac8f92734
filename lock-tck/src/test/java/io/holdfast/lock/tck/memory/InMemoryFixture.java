package io.holdfast.lock.tck.memory;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.fault.StoreLink;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/** The in-memory store: the kit's simplest subject. */
public class InMemoryFixture implements Fixture {
  private final InMemoryServer server = new InMemoryServer();

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.of(
        Capability.TAP,
        Capability.FAULTS,
        Capability.GUARDED_WRITES,
        Capability.SEMAPHORES,
        Capability.READ_WRITE);
  }

  @Override
  public String whyNot(Capability missing) {
    return switch (missing) {
      case CHILD_PROCESSES -> "the in-memory store is known to one process only";
      case LEFTOVERS -> "the in-memory store's map is private to it";
      case CALLER_TRANSACTIONS -> "the in-memory store has no transactions";
      default -> "the in-memory store has no server";
    };
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return newClient(UnaryOperator.identity());
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(this::openStore, tap);
  }

  @Override
  public Link newLink() {
    return new StoreLink();
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    return new TappedBuilder(
        settings -> ((StoreLink) link).through(openStore(settings), settings.storeTimeout()),
        UnaryOperator.identity());
  }

  @Override
  public GuardedWrites guardedWrites() {
    return writes;
  }

  @Override
  public void close() {
    // Gone with the object.
  }

  /** Opens the store of a client. */
  protected LockStore openStore(StoreSettings settings) {
    return openPlainStore(settings);
  }

  private LockStore openPlainStore(StoreSettings settings) {
    try {
      InMemoryLocks.Builder builder = InMemoryLocks.builder(server);
      Method openStore = builder.getClass().getDeclaredMethod("openStore", StoreSettings.class);
      openStore.setAccessible(true);
      return (LockStore) openStore.invoke(builder, settings);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new LinkageError("The builder has no openStore", e);
    }
  }

  /** Opens the store without a bug. */
  public final LockStore plainStore() {
    return openPlainStore(
        new StoreSettings("fixture", timing().storeTimeout(), TimeSource.system(), new NoEvents()));
  }

  private final GuardedWrites writes = new GuardedLogs();

  /**
   * Logs that take an entry if the store shows the lease and nobody with a higher number has
   * written: the second makes check and write one step, whatever happens in between.
   */
  private final class GuardedLogs implements GuardedWrites {
    private static final class Log {
      private final List<String> entries = new ArrayList<>();
      private long lastNumber;
    }

    private final Map<String, Log> logs = new ConcurrentHashMap<>();

    @Override
    public void create(String log) {
      logs.put(log, new Log());
    }

    @Override
    public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
      try (LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class)) {
        beforeEffect.run();
        Log target = logs.get(log);
        synchronized (target) {
          if (plainStore().verify(guard.grant()).isEmpty()
              || guard.grant().number() < target.lastNumber) {
            throw guard.lost();
          }
          target.lastNumber = guard.grant().number();
          target.entries.add(entry);
        }
      } catch (StoreException e) {
        throw new LockLostException(lease.name(), lease.token(), LeaseLoss.Reason.TAKEN);
      }
    }

    @Override
    public List<String> read(String log) {
      Log target = logs.get(log);
      synchronized (target) {
        return List.copyOf(target.entries);
      }
    }
  }

  private static final class NoEvents implements StoreEvents {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  }
}
