package io.holdfast.lock.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** What keeps the locks, and who is compared on it. */
enum Store {
  REDIS("redis", "Redis", RedisServer::new, RedisCandidates::all),
  MYSQL("jdbc", "MySQL", MySqlServer::new, JdbcCandidates::mySql),
  POSTGRES("jdbc", "PostgreSQL", PostgresServer::new, JdbcCandidates::postgres),
  ZOOKEEPER("zookeeper", "ZooKeeper", ZooKeeperServer::new, ZooKeeperCandidates::all),
  CONSUL("consul", "Consul", ConsulServer::new, ConsulCandidates::all);

  private final String option;
  private final String title;
  private final Supplier<BenchServer> server;
  private final Supplier<List<Candidate>> candidates;

  Store(
      String option,
      String title,
      Supplier<BenchServer> server,
      Supplier<List<Candidate>> candidates) {
    this.option = option;
    this.title = title;
    this.server = server;
    this.candidates = candidates;
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
    return server.get();
  }

  List<Candidate> candidates() {
    return candidates.get();
  }

  Candidate candidate(String id) {
    return candidates().stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such candidate: " + id));
  }
}
