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
 * The settings that every store's builder has. The defaults are right for production.
 *
 * <p>Not safe for several threads at once; one builder may build several clients.
 *
 * @param <B> the store's own builder
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

  /** For builders of stores. */
  protected LockClientBuilder() {}

  /**
   * The client's name in thread names, in the store and in messages; default: the host's name. Need
   * not be unique.
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

  /** The options of {@link LockClient#get(String)}; default: {@link LockOptions#defaults()}. */
  public final B defaultOptions(LockOptions options) {
    this.defaultOptions = Objects.requireNonNull(options);
    return self();
  }

  /**
   * The longest time that one call to the store takes; default 5 s. A renewed lease's TTL must be
   * at least three times this, a fixed one's longer than this, so that a slow answer is not yet a
   * loss.
   *
   * @throws IllegalArgumentException outside 1 ms to 5 min
   */
  public final B storeTimeout(Duration timeout) {
    if (timeout.compareTo(STORE_TIMEOUT_MIN) < 0 || timeout.compareTo(STORE_TIMEOUT_MAX) > 0) {
      throw new IllegalArgumentException("A store timeout must be "
          + STORE_TIMEOUT_MIN
          + " to "
          + STORE_TIMEOUT_MAX
          + ", was "
          + timeout);
    }
    this.storeTimeout = timeout;
    return self();
  }

  /** One more listener; they are told in the order of adding. */
  public final B addListener(LockListener listener) {
    listeners.add(Objects.requireNonNull(listener));
    return self();
  }

  /**
   * The executor of {@link Lease#onLost} listeners, and of events that are not a caller's own;
   * default: daemon threads of the client, made as needed, 32 at most. The executor stays yours to
   * shut down.
   *
   * <p>A task that it rejects runs on a thread of ours, and so does each task if it runs them on
   * the thread that asks. If it drops a task without a word, a loss listener is not called; events
   * are told late, since they are submitted again after a second.
   */
  public final B callbackExecutor(Executor executor) {
    this.callbackExecutor = Objects.requireNonNull(executor);
    return self();
  }

  /**
   * Whether a lease may pass from one thread of this client to the next in line without a round
   * trip, with a higher token, bounded in count and time so that other clients get their turn;
   * default true.
   */
  public final B localHandOff(boolean allowed) {
    this.localHandOff = allowed;
    return self();
  }

  /** Another clock, for tests; default: the machine's. */
  public final B timeSource(TimeSource timeSource) {
    this.timeSource = Objects.requireNonNull(timeSource);
    return self();
  }

  /**
   * Connects, checks the store, and returns a client that the caller closes.
   *
   * @throws IllegalArgumentException the default options' TTL is too short for the store timeout
   * @throws IllegalStateException the store is not fit for use (a missing table, an unknown
   *     database); the message says what to do
   * @throws LockStoreException the store gave no usable answer
   */
  @CheckReturnValue
  public final LockClient build() {
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
   * @throws IllegalStateException the store is not fit for use; the message says what to do
   * @throws StoreException the store gave no usable answer
   */
  protected abstract LockStore openStore(StoreSettings settings) throws StoreException;

  @SuppressWarnings("unchecked")
  private B self() {
    return (B) this;
  }
}
