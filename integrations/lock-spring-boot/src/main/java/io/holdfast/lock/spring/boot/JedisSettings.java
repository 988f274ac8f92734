package io.holdfast.lock.spring.boot;

import java.time.Duration;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.util.StringUtils;
import redis.clients.jedis.DefaultJedisClientConfig;

/** The settings of the Jedis clients that are made for the locks. */
final class JedisSettings {
  private JedisSettings() {}

  /**
   * Returns settings of one account.
   *
   * @param user null or empty for the default one, as in {@code redis://:PASSWORD@HOST}
   * @param timeout the longest time that a connection may take to be opened, or to answer
   */
  static DefaultJedisClientConfig.Builder of(
      @Nullable String user, @Nullable String password, Duration timeout) {
    return DefaultJedisClientConfig.builder()
        .user(StringUtils.hasLength(user) ? user : null)
        .password(StringUtils.hasLength(password) ? password : null)
        .timeoutMillis((int) Math.min(Integer.MAX_VALUE, timeout.toMillis()));
  }

  /** Turns on TLS, with the bundle's certificates and options. */
  static DefaultJedisClientConfig.Builder secured(
      DefaultJedisClientConfig.Builder settings, SslBundle bundle) {
    SslOptions options = bundle.getOptions();
    SSLParameters parameters = checkingTheHost();
    if (options.getCiphers() != null) {
      parameters.setCipherSuites(options.getCiphers());
    }
    if (options.getEnabledProtocols() != null) {
      parameters.setProtocols(options.getEnabledProtocols());
    }
    return settings
        .ssl(true)
        .sslSocketFactory(bundle.createSslContext().getSocketFactory())
        .sslParameters(parameters);
  }

  /** Turns on TLS, with the certificates that the JVM trusts. */
  static DefaultJedisClientConfig.Builder secured(DefaultJedisClientConfig.Builder settings) {
    return settings.ssl(true).sslParameters(checkingTheHost());
  }

  /** Returns parameters that require the certificate to be the host's: Jedis itself does not. */
  private static SSLParameters checkingTheHost() {
    SSLParameters parameters = new SSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    return parameters;
  }
}
