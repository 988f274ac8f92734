package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.regex.Pattern;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import org.jspecify.annotations.Nullable;

/**
 * Locks in Consul's key-value store.
 *
 * <pre>{@code
 * try (LockClient locks = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500").build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>A client has one session for each TTL that it uses, however many locks it holds, and renews it
 * in the background. While it waits for a lock, it has one long poll open for that name.
 */
public final class ConsulLocks {
  private static final Pattern PREFIX =
      Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*");

  /** Consul takes no longer one. */
  static final long LOCK_DELAY_SECONDS_MAX = 60;

  private ConsulLocks() {}

  /**
   * Begins a client on the agent at this address.
   *
   * @param client your client, with its TLS settings, proxy and interceptors; it stays yours. Its
   *     timeouts are not used, the client's store timeout is; connections and threads are the lock
   *     client's own
   * @param address scheme, host and port of the agent, with a path if there is one before
   *     {@code /v1}
   * @throws IllegalArgumentException the address is no HTTP URL
   */
  public static Builder builder(OkHttpClient client, String address) {
    return new Builder(Objects.requireNonNull(client), HttpUrl.get(address));
  }

  /**
   * Begins a client that shares its locks with {@code consul lock}, and with other programs that
   * lock one key by a session: the lock {@code orders/42} of a client with the prefix {@code shop}
   * is the one that {@code consul lock shop/orders/42 COMMAND} takes.
   *
   * <p>That protocol gives less than {@link #builder}: no line, so whoever asks first after a
   * release gets the lock; a session for each lease, so five requests to acquire and release, and a
   * renewal of two for each lease; a loss by force is heard of with the next renewal; after a crash
   * the lock-delay comes on top. Prefer {@link #builder} where no other program shares the locks:
   * the two kinds do not exclude each other. Tokens rise as well, and {@link ConsulGuard} works.
   *
   * @param client as for {@link #builder}
   * @param address as for {@link #builder}
   * @throws IllegalArgumentException the address is no HTTP URL
   */
  public static ClassicBuilder classic(OkHttpClient client, String address) {
    return new ClassicBuilder(Objects.requireNonNull(client), HttpUrl.get(address));
  }

  private static String checkPrefix(String prefix) {
    if (prefix.length() > 200 || !PREFIX.matcher(prefix).matches()) {
      throw new IllegalArgumentException(
          "A prefix is words of ASCII letters, digits, '-', '_' and '.' (not first) with single"
              + " slashes between, of at most 200 characters; this is '"
              + prefix
              + "'");
    }
    return prefix;
  }

  /** Makes a client of Consul. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final OkHttpClient client;
    private final HttpUrl address;
    private String prefix = "holdfast";
    private @Nullable String token;

    private Builder(OkHttpClient client, HttpUrl address) {
      this.client = client;
      this.address = address;
    }

    /**
     * The folder of all keys; default {@code holdfast}.
     *
     * @throws IllegalArgumentException not words of ASCII letters, digits, {@code -_.} with slashes
     *     between
     */
    public Builder prefix(String prefix) {
      this.prefix = checkPrefix(prefix);
      return this;
    }

    /** The ACL token; default: none, or what an interceptor of your client adds. */
    public Builder token(String token) {
      this.token = Objects.requireNonNull(token);
      return this;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      ConsulStore store =
          new ConsulStore(new ConsulHttp.Settings(client, address, token), prefix, settings);
      boolean opened = false;
      try {
        store.probe();
        opened = true;
        return store;
      } finally {
        if (!opened) {
          store.close();
        }
      }
    }
  }

  /** Makes a client of Consul that shares its locks with other programs. */
  public static final class ClassicBuilder extends LockClientBuilder<ClassicBuilder> {
    private final OkHttpClient client;
    private final HttpUrl address;
    private String prefix = "holdfast-classic";
    private @Nullable Duration lockDelay;
    private @Nullable String token;

    private ClassicBuilder(OkHttpClient client, HttpUrl address) {
      this.client = client;
      this.address = address;
    }

    /**
     * What every key begins with; default {@code holdfast-classic}. The key of a lock is
     * {@code PREFIX/NAME/.lock}.
     *
     * @throws IllegalArgumentException not words of ASCII letters, digits, {@code -_.} with slashes
     *     between
     */
    public ClassicBuilder prefix(String prefix) {
      this.prefix = checkPrefix(prefix);
      return this;
    }

    /**
     * For how long nobody gets a lock whose holder crashed or whose session was destroyed, counted
     * from the end of its session; default: the session's TTL, at most 60 s. A holder that is cut
     * off believes in its lease for up to that TTL, so with less, two can hold. A release is not
     * delayed, nor is a forced one.
     *
     * @param lockDelay 0 to 60 s; parts of a millisecond are cut off
     * @throws IllegalArgumentException out of that range
     */
    public ClassicBuilder lockDelay(Duration lockDelay) {
      if (lockDelay.isNegative()
          || lockDelay.compareTo(Duration.ofSeconds(LOCK_DELAY_SECONDS_MAX)) > 0) {
        throw new IllegalArgumentException(
            "Consul has lock-delays of 0 to 60 s, was given " + lockDelay);
      }
      this.lockDelay = lockDelay.truncatedTo(ChronoUnit.MILLIS);
      return this;
    }

    /** The ACL token; default: none, or what an interceptor of your client adds. */
    public ClassicBuilder token(String token) {
      this.token = Objects.requireNonNull(token);
      return this;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      ClassicStore store = new ClassicStore(
          new ConsulHttp.Settings(client, address, token), prefix, lockDelay, settings);
      boolean opened = false;
      try {
        store.probe();
        opened = true;
        return store;
      } finally {
        if (!opened) {
          store.close();
        }
      }
    }
  }
}
