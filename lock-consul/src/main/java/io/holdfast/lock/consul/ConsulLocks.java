package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
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

  /** Makes a client of Consul. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final OkHttpClient client;
    private final HttpUrl address;
    private String prefix = "holdfast";
    private @Nullable String token;
    private @Nullable String datacenter;

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
      if (prefix.length() > 200 || !PREFIX.matcher(prefix).matches()) {
        throw new IllegalArgumentException(
            "A prefix is words of ASCII letters, digits, '-', '_' and '.' (not first) with single"
                + " slashes between, of at most 200 characters; this is '"
                + prefix
                + "'");
      }
      this.prefix = prefix;
      return this;
    }

    /** The ACL token; default: none, or what an interceptor of your client adds. */
    public Builder token(String token) {
      this.token = Objects.requireNonNull(token);
      return this;
    }

    /** The datacenter that has the locks; default: the agent's own. */
    public Builder datacenter(String datacenter) {
      this.datacenter = Objects.requireNonNull(datacenter);
      return this;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) throws StoreException {
      ConsulStore store = new ConsulStore(
          new ConsulHttp.Settings(client, address, token, datacenter), prefix, settings);
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
