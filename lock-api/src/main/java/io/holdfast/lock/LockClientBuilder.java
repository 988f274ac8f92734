package io.holdfast.lock;

import io.holdfast.lock.internal.Engine;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The settings that all stores' builders share. The defaults suit production.
 *
 * <p>Not safe for concurrent use. One builder may build several clients.
 *
 * @param <B> the store's own type of builder
 */
public abstract class LockClientBuilder<B extends LockClientBuilder<B>> {
  private static final Duration STORE_TIMEOUT_MIN = Duration.ofMillis(1);
  private static final Duration STORE_TIMEOUT_MAX = Duration.ofMinutes(5);

  private @Nullable String clientName;
  private LockOptions defaultOptions = LockOptions.defaults();
  private Duration storeTimeout = Duration.ofSeconds(5);
  private final List<LockListener> listeners = new ArrayList<>();
  private @Nullable Executor callbackExecutor;
  private boolean localHandOff = true;
  private TimeSource timeSource = TimeSource.system();

  /** For subclasses. */
  protected LockClientBuilder() {}

  /**
   * Sets the client's name, which appears in thread names, in the store and in messages; the
   * default is the host's name. Need not be unique.
   *
   * @throws IllegalArgumentException empty, over 60 characters, or with control characters
   */
  public final B clientName(String name) {
    if (name.isEmpty() || name.length() > 60 || name.chars().anyMatch(Character::isISOControl)) {
      throw new IllegalArgumentException(
          "A client name has 1 to 60 characters and no control characters, this one has "
              + name.length());
    }
    this.clientName = name;
    return self();
  }

  /**
   * Sets the options of {@link LockClient#get(String)}; the default is
   * {@link LockOptions#defaults()}.
   */
  public final B defaultOptions(LockOptions options) {
    this.defaultOptions = Objects.requireNonNull(options);
    return self();
  }

  /**
   * Sets the longest time that one call to the store may take; the default is 5 s. The first
   * acquire of a name that the store has never seen may take twice as long. So that a slow answer
   * does not mean a lost lease, the TTL of a renewed lease must be at least three times this, and
   * the TTL of a fixed lease must be longer than this.
   *
   * @throws IllegalArgumentException outside 1 ms to 5 min
   */
  public final B storeTimeout(Duration timeout) {
    if (timeout.compareTo(STORE_TIMEOUT_MIN) < 0 || timeout.compareTo(STORE_TIMEOUT_MAX) > 0) {
      throw new IllegalArgumentException("A store timeout must be %s to %s, was %s"
          .formatted(STORE_TIMEOUT_MIN, STORE_TIMEOUT_MAX, timeout));
    }
    this.storeTimeout = timeout;
    return self();
  }

  /** Adds a listener. Listeners are called in the order in which they were added. */
  public final B addListener(LockListener listener) {
    listeners.add(Objects.requireNonNull(listener));
    return self();
  }

  /**
   * Sets the executor for {@link Lease#onLost} listeners, and for the events of a
   * {@link LockListener} that are not told on a caller's thread. The default is up to 32 daemon
   * threads of the client, started as needed. The client does not shut the executor down.
   *
   * <p>While the executor is busy, one task waits there for all events together, and one for each
   * call of a loss listener; they are told when it gets to them. A task that the executor rejects
   * runs on a thread of the client, and so does every task if the executor runs tasks on the
   * submitting thread. If the executor silently drops a task, a loss listener is not called, and
   * events are told late, since they are submitted again when the task has been garbage collected.
   */
  public final B callbackExecutor(Executor executor) {
    this.callbackExecutor = Objects.requireNonNull(executor);
    return self();
  }

  /**
   * Sets whether a lease may pass from one thread of this client to the next waiting one without a
   * round trip; the default is true. The next thread gets a higher token. The number and the time
   * of such hand-offs in a row are limited, so that other clients get their turn.
   */
  public final B localHandOff(boolean allowed) {
    this.localHandOff = allowed;
    return self();
  }

  /** Sets the clocks to use, for tests; the default is the machine's clocks. */
  public final B timeSource(TimeSource timeSource) {
    this.timeSource = Objects.requireNonNull(timeSource);
    return self();
  }

  /**
   * Connects to the store, checks it, and returns a client, which the caller must close. A subclass
   * may say more of its type, and calls this.
   *
   * @throws IllegalArgumentException the default options' TTL is too short for the store timeout
   * @throws IllegalStateException the store cannot be used as it is (a missing table, an unknown
   *     database); the message says what to do
   * @throws LockStoreException the store gave no usable answer
   */
  @CheckReturnValue
  public LockClient build() {
    return Engine.start(
        new Engine.Settings(
            clientName,
            defaultOptions,
            storeTimeout,
            List.copyOf(listeners),
            callbackExecutor,
            localHandOff,
            timeSource),
        this::openStore);
  }

  /**
   * Opens the store for one client.
   *
   * @throws IllegalStateException the store cannot be used as it is; the message says what to do
   * @throws StoreException the store gave no usable answer
   */
  protected abstract LockStore openStore(StoreSettings settings) throws StoreException;

  @SuppressWarnings("unchecked")
  private B self() {
    return (B) this;
  }
}
