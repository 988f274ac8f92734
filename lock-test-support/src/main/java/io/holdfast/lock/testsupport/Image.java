package io.holdfast.lock.testsupport;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A store's server, as an image.
 *
 * @param name the image's name and tag
 * @param port the port at which it serves, within the container
 * @param readyLog a pattern for the line that it logs when it serves; null: when it listens
 * @param readyTimes the number of times that it logs it
 * @param data the folders in which it keeps its data
 * @param environment variables of its environment
 * @param command the beginning of its command
 */
public record Image(
    String name,
    int port,
    @Nullable String readyLog,
    int readyTimes,
    List<String> data,
    Map<String, String> environment,
    List<String> command) {
  /** The password of the databases' first user, and the name of their database. */
  public static final String PASSWORD = "holdfast";

  public static final String DATABASE = "holdfast";

  public static final Image MYSQL = new Image(
      "mysql:9",
      3306,
      ".*ready for connections.*port: 3306.*",
      1,
      List.of("/var/lib/mysql"),
      Map.of("MYSQL_ROOT_PASSWORD", PASSWORD, "MYSQL_DATABASE", DATABASE),
      List.of());

  public static final Image MARIADB = new Image(
      "mariadb:11.8",
      3306,
      ".*port: 3306.*",
      1,
      List.of("/var/lib/mysql"),
      Map.of("MARIADB_ROOT_PASSWORD", PASSWORD, "MARIADB_DATABASE", DATABASE),
      List.of());

  /** Its first line is of the server that makes the accounts. */
  public static final Image POSTGRES = new Image(
      "postgres:17",
      5432,
      ".*ready to accept .*connections.*",
      2,
      List.of("/var/lib/postgresql/data"),
      Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", DATABASE),
      List.of());

  public static final Image REDIS = new Image(
      "redis:8.0",
      6379,
      ".*Ready to accept connections.*",
      1,
      List.of("/data"),
      Map.of(),
      List.of());

  public static final Image VALKEY = new Image(
      "valkey/valkey:8.1",
      6379,
      ".*Ready to accept connections.*",
      1,
      List.of("/data"),
      Map.of(),
      List.of());

  /**
   * Empty containers are looked for every minute otherwise. A server lives for minutes: the second
   * compiler of its JVM costs more than it gains.
   */
  public static final Image ZOOKEEPER = new Image(
      "zookeeper:3.9",
      2181,
      null,
      1,
      List.of("/data", "/datalog"),
      Map.of(
          "ZOO_TICK_TIME",
          "1000",
          "ZOO_MAX_CLIENT_CNXNS",
          "0",
          "ZOO_4LW_COMMANDS_WHITELIST",
          "*",
          "JVMFLAGS",
          "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dznode.container.checkIntervalMs=1000"),
      List.of());

  public static final Image CONSUL = new Image(
      "consul:1.8",
      8500,
      ".*cluster leadership acquired.*",
      1,
      List.of("/consul/data"),
      Map.of(),
      List.of(
          "agent",
          "-server",
          "-bootstrap-expect=1",
          "-client=0.0.0.0",
          "-bind=127.0.0.1",
          "-hcl=performance { raft_multiplier = 1 }",
          "-hcl=limits { http_max_conns_per_client = 2000 }"));

  /** Returns the image with one more variable in its environment. */
  public Image with(String variable, String value) {
    Map<String, String> more = new TreeMap<>(environment);
    more.put(variable, value);
    return new Image(name, port, readyLog, readyTimes, data, more, command);
  }

  /** Returns the image of a server that is ready when it has logged this pattern once. */
  public Image readyWhenLogged(String pattern) {
    return new Image(name, port, pattern, 1, data, environment, command);
  }
}
