package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Starts clients. */
public final class Engine {
  private static final SafeLogger log = SafeLogger.of(Engine.class);

  private Engine() {}

  /**
   * The settings that a builder collected; see the builder for what they mean.
   *
   * @param clientName null: the host's name
   * @param callbackExecutor null: the client's own threads
   */
  public record Settings(
      @Nullable String clientName,
      LockOptions defaultOptions,
      Duration storeTimeout,
      List<LockListener> listeners,
      @Nullable Executor callbackExecutor,
      boolean localHandOff,
      TimeSource time) {}

  /** Opens the store of one client. */
  public interface StoreOpener {
    /** Opens it; see {@code LockClientBuilder.openStore}. */
    LockStore open(StoreSettings settings) throws StoreException;
  }

  /**
   * Opens the store and starts a client on it: a {@link SemaphoreClient} if it is a
   * {@link PermitStore}, else a {@link ReadWriteClient} if it is a {@link ReadWriteStore}.
   *
   * @throws LockStoreException the store gave no usable answer
   */
  public static LockClient start(Settings settings, StoreOpener opener) {
    StoreTimeouts.check(settings.defaultOptions(), settings.storeTimeout());
    EngineClasses.initialize();
    String hostName = HostName.get();
    String clientName = settings.clientName() == null ? hostName : settings.clientName();
    Clocks time = new Clocks(settings.time());
    Relay relay = new Relay();
    LockStore store;
    try {
      store = opener.open(new StoreSettings(clientName, settings.storeTimeout(), time, relay));
    } catch (StoreException e) {
      throw new LockStoreException("", "The lock store could not be opened: " + e.getMessage(), e);
    }
    boolean started = false;
    try {
      store.checkOptions(settings.defaultOptions());
      Claims claims = new Claims(clientName, hostName);
      EngineClient client;
      if (store instanceof PermitStore permits) {
        client = new EngineSemaphoreClient(settings, time, clientName, claims, permits);
      } else if (store instanceof ReadWriteStore readWrite) {
        client = new EngineReadWriteClient(settings, time, clientName, claims, readWrite);
      } else {
        client = new EngineClient(settings, time, clientName, claims, store);
      }
      relay.client = client;
      client.start();
      started = true;
      return client;
    } finally {
      if (!started) {
        store.close();
      }
    }
  }

  /**
   * Passes the store's events on to the client. Events that come before there is a client are
   * dropped, since no grant exists then.
   */
  private static final class Relay implements StoreEvents {
    private volatile @Nullable EngineClient client;

    @Override
    public void suspended(Grant grant) {
      tell(grant, told -> told.suspended(grant));
    }

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {
      tell(grant, told -> told.lost(grant, reason));
    }

    /**
     * Catches everything, so that a store's thread does not end; the next renewal notices what was
     * missed.
     */
    private void tell(Grant grant, Consumer<EngineClient> event) {
      EngineClient told = client;
      if (told != null) {
        try {
          event.accept(told);
        } catch (Throwable e) {
          log.warn(
              "An event of the store about lock '{}' was missed", grant.claim().key(), e);
        }
      }
    }
  }
}
