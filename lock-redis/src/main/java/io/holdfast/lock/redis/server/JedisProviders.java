package io.holdfast.lock.redis.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.providers.ConnectionProvider;

/**
 * Access to the connection provider of a Jedis client. The provider knows a Cluster's pools, slot
 * by slot, and can reach a server that another server names. Jedis keeps it in a protected field,
 * and gives partial access only from 8.0 on; so the field is read, for all versions alike. On the
 * module path Jedis is an automatic module, which is open to reflection; if it were not,
 * {@code build()} would fail.
 */
public final class JedisProviders {
  private JedisProviders() {}

  /**
   * Returns the provider of a client.
   *
   * @throws IllegalStateException it has none of that type
   */
  public static <T extends ConnectionProvider> T of(UnifiedJedis client, Class<T> type) {
    Object provider;
    try {
      Field field = UnifiedJedis.class.getDeclaredField("provider");
      field.setAccessible(true);
      provider = field.get(client);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw new IllegalStateException(notSupported(version()), e);
    }
    if (!type.isInstance(provider)) {
      String found = provider == null ? "nothing" : provider.getClass().getName();
      throw new IllegalStateException(
          ("The client connects by %s, and must by %s: build it with Jedis's own builder, without a"
                  + " provider of yours")
              .formatted(found, type.getName()));
    }
    return type.cast(provider);
  }

  /**
   * Checks that this works with the Jedis on the class path.
   *
   * @throws IllegalStateException it does not
   */
  public static void checkVersion() {
    checkVersion(version());
  }

  /**
   * Checks that this works with a version.
   *
   * @param version null if it is not known, as in an application that is a single jar; it is then
   *     accepted
   * @throws IllegalStateException it does not
   */
  static void checkVersion(@Nullable String version) {
    if (version == null) {
      return;
    }
    String[] parts = version.split("[.-]", 3);
    try {
      int major = Integer.parseInt(parts[0]);
      int minor = parts.length > 1 ? Integer.parseInt(parts[1]) : 0;
      if (major == 8 || (major == 7 && minor >= 4)) {
        return;
      }
    } catch (NumberFormatException e) {
      return; // Accepted like an unknown version.
    }
    throw new IllegalStateException(notSupported(version));
  }

  private static String notSupported(@Nullable String version) {
    return ("Jedis %s is on the class path, and Holdfast works with 7.4 to 7.x and 8.x: take one of"
            + " these")
        .formatted(version == null ? "of an unknown version" : version);
  }

  /** Returns the version from the jar, or null if it has none. */
  static @Nullable String version() {
    try (InputStream in = UnifiedJedis.class.getResourceAsStream("pom.properties")) {
      if (in == null) {
        return null;
      }
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
