package io.holdfast.lock.consul;

import io.holdfast.lock.ReadWriteClientBuilder;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.store.ConsulStore;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.util.Objects;
import java.util.regex.Pattern;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import org.jspecify.annotations.Nullable;

/**
 * Locks and read-write locks in Consul's key-value store.
 *
 * <pre>{@code
 * try (LockClient locks = ConsulLocks.builder(new OkHttpClient(), "http://localhost:8500").build()) {
 *   locks.get("orders/42").run(lease -> ship(order, lease.token()));
 * }
 * }</pre>
 *
 * <p>A client has one Consul session for each TTL that it uses, however many locks it holds, and
 * renews it in the background. While threads wait for a lock, it has one long poll open for that
 * name, for 16 names at most; without one, it looks every second. If a holder crashes, the name
 * stays taken for up to four times the session's TTL, at least 40 s;
 * {@link io.holdfast.lock.Lease#crashBound()} has the exact time. Consul tells no times: a client
 * that has taken any lock since the session ended, a session TTL ago or more, gets the name when it
 * first asks. Any other finds it taken even long after the crash, and gets it if it waits for one
 * session TTL; asked by clients that do not wait, the second half of that bound counts from the
 * first that asks, unless one that is open for hours has cleared the name by itself.
 */
public final class ConsulLocks {
  private static final Pattern PREFIX =
      Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*");

  /** A prefix that could be in the folders of another, as {@link Keys} has them. */
  private static final Pattern OURS = Pattern.compile("/(m|session)(/|$)");

  private ConsulLocks() {}

  /**
   * Returns a builder of a client on the agent at this address.
   *
   * @param client your HTTP client, whose TLS settings, proxy and interceptors apply. Its timeouts
   *     do not: the store timeout does. The lock client has connections and threads of its own, and
   *     does not close yours
   * @param address scheme, host and port of the agent, with the path before {@code /v1} if there is
   *     one
   * @throws IllegalArgumentException the address is not an HTTP URL
   */
  public static Builder builder(OkHttpClient client, String address) {
    return new Builder(Objects.requireNonNull(client), HttpUrl.get(address));
  }

  private static String checkPrefix(String prefix) {
    if (OURS.matcher(prefix).find()) {
      throw new IllegalArgumentException("The prefix '"
          + prefix
          + "' is in a folder 'm' or 'session', where a client whose prefix ends before it keeps its"
          + " keys: choose another word");
    }
    if (prefix.length() > 200 || !PREFIX.matcher(prefix).matches()) {
      throw new IllegalArgumentException(
          ("A prefix is words of ASCII letters, digits, '-', '_' and '.' (not first) with single"
                  + " slashes between, of at most 200 characters; this is '%s'")
              .formatted(prefix));
    }
    return prefix;
  }

  private static String checkToken(String token) {
    long printable = token.chars().takeWhile(one -> one > ' ' && one <= '~').count();
    if (printable < token.length()) {
      // The message is logged, so it does not show the token.
      throw new IllegalArgumentException("The ACL token's character at index "
          + printable
          + " is not printable ASCII: often a line break at the end of the file or variable that"
          + " the token was read from");
    }
    return token;
  }

  /** Builds clients on Consul. */
  public static final class Builder extends ReadWriteClientBuilder<Builder> {
    private final OkHttpClient client;
    private final HttpUrl address;
    private String prefix = "holdfast";
    private @Nullable String token;

    private Builder(OkHttpClient client, HttpUrl address) {
      this.client = client;
      this.address = address;
    }

    /**
     * Sets the folder of all keys; the default is {@code holdfast}. Clients with different prefixes
     * have different locks.
     *
     * @throws IllegalArgumentException the prefix is not words of ASCII letters, digits and
     *     {@code - _ .} with single slashes between them, of at most 200 characters; or {@code m}
     *     or {@code session} is a word of it after the first
     */
    public Builder prefix(String prefix) {
      this.prefix = checkPrefix(prefix);
      return this;
    }

    /**
     * Sets the ACL token. By default none is sent, unless an interceptor of your client adds one.
     *
     * @throws IllegalArgumentException the token has a space or another character that is not
     *     printable ASCII; the message does not show the token
     */
    public Builder token(String token) {
      this.token = checkToken(token);
      return this;
    }

    @Override
    protected ReadWriteStore openStore(StoreSettings settings) throws StoreException {
      ConsulHttp.Settings http =
          new ConsulHttp.Settings(client, address, token, ConsulException::new);
      return new ConsulStore(ConsulHttp.open(http, prefix, settings), prefix, settings);
    }
  }
}
