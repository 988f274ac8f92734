package io.holdfast.lock.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What keeps the locks, and who is compared on it. */
enum Store {
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

  /** @param option of the command line: {@code all}, a kind of store, or one by its own name */
  static List<Store> byOption(String option) {
    List<Store> found = Arrays.stream(values())
        .filter(one -> option.equals("all") || option.equals(one.option) || option.equals(one.id()))
        .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException("no such store: " + option + "; there are all, jdbc, "
          + Arrays.stream(values()).map(Store::id).collect(Collectors.joining(", ")));
    }
    return found;
  }

  String id() {
    return name().toLowerCase(Locale.ROOT);
  }

  String title() {
    return title;
  }

  BenchServer start() {
    return switch (this) {
      case REDIS -> new RedisServer();
      case MYSQL -> new MySqlServer();
      case POSTGRES -> new PostgresServer();
      case ZOOKEEPER -> new ZooKeeperServer();
      case CONSUL -> new ConsulServer();
    };
  }

  List<Candidate> candidates() {
    return switch (this) {
      case REDIS -> RedisCandidates.all();
      case MYSQL -> JdbcCandidates.mySql();
      case POSTGRES -> JdbcCandidates.postgres();
      case ZOOKEEPER -> ZooKeeperCandidates.all();
      case CONSUL -> ConsulCandidates.all();
    };
  }

  Candidate candidate(String id) {
    return candidates().stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such candidate: " + id));
  }
}
