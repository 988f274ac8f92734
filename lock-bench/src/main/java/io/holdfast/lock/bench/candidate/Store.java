package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.server.BenchServer;
import io.holdfast.lock.bench.server.ConsulServer;
import io.holdfast.lock.bench.server.MySqlServer;
import io.holdfast.lock.bench.server.PostgresServer;
import io.holdfast.lock.bench.server.RedisServer;
import io.holdfast.lock.bench.server.ZooKeeperServer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The stores, and the candidates on each. */
public enum Store {
  REDIS("redis", "Redis"),
  MYSQL("jdbc", "MySQL"),
  POSTGRES("jdbc", "PostgreSQL"),
  ZOOKEEPER("zookeeper", "ZooKeeper"),
  CONSUL("consul", "Consul");

  private final String option;
  private final String title;

  Store(String option, String title) {
    this.option = option;
    this.title = title;
  }

  /**
   * Returns the stores that an option of the command line means.
   *
   * @param option {@code all}, a kind of store, or the name of one
   */
  public static List<Store> byOption(String option) {
    List<Store> found = Arrays.stream(values())
        .filter(one -> option.equals("all") || option.equals(one.option) || option.equals(one.id()))
        .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException("no such store: " + option + "; there are all, jdbc, "
          + Arrays.stream(values()).map(Store::id).collect(Collectors.joining(", ")));
    }
    return found;
  }

  public String id() {
    return name().toLowerCase(Locale.ROOT);
  }

  public String title() {
    return title;
  }

  public BenchServer start() {
    int port = BenchServer.freePort();
    return switch (this) {
      case REDIS -> new RedisServer(port);
      case MYSQL -> new MySqlServer(port);
      case POSTGRES -> new PostgresServer(port);
      case ZOOKEEPER -> new ZooKeeperServer(port);
      case CONSUL -> new ConsulServer(port);
    };
  }

  public List<Candidate> candidates() {
    return switch (this) {
      case REDIS -> RedisCandidates.all();
      case MYSQL -> JdbcCandidates.mySql();
      case POSTGRES -> JdbcCandidates.postgres();
      case ZOOKEEPER -> ZooKeeperCandidates.all();
      case CONSUL -> ConsulCandidates.all();
    };
  }

  /** Returns the floor, and Holdfast in this build and in another one. */
  public List<Candidate> beside(String classPath) {
    Candidate holdfast = candidate(HoldfastClient.HOLDFAST);
    return Stream.concat(
            candidates().stream().filter(one -> one.role() == Candidate.Role.FLOOR),
            Stream.of(holdfast, holdfast.before(classPath)))
        .toList();
  }

  public Candidate candidate(String id) {
    return candidates().stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such candidate: " + id));
  }
}
