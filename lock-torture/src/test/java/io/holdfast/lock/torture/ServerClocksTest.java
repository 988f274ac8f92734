package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** The servers' own readings of their clocks. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
class ServerClocksTest {
  /** The precision of a reading: Redis is asked for whole seconds. */
  private static final long NEAR_MILLIS = 1_000;

  private static final Duration STARTUP_MAX = Duration.ofSeconds(60);

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MYSQL", "MARIADB", "REDIS", "ZOOKEEPER"})
  @Timeout(120)
  void aServerTellsTheTimeThatItWasSetTo(StoreKind store) throws Exception {
    TortureTest.assumeServers();
    try (Servers servers = Servers.start(store)) {
      // It listens before it answers.
      Waiting.until(store + " answers", STARTUP_MAX, () -> {
        try {
          return millis(store, servers.addresses().get(0)) > 0;
        } catch (SQLException e) {
          return false;
        }
      });
      for (long aheadMillis : new long[] {0, 7_000, -7_000, 0}) {
        servers.setClock(0, aheadMillis);
        long beforeMillis = System.currentTimeMillis();
        long toldMillis = millis(store, servers.addresses().get(0)) - aheadMillis;
        long afterMillis = System.currentTimeMillis();
        assertThat(toldMillis)
            .as("what %s tells %s ms ahead, less those", store, aheadMillis)
            .isBetween(beforeMillis - NEAR_MILLIS, afterMillis + NEAR_MILLIS);
      }
      // The jumps ahead: to 7 s ahead, and from 7 s behind to the right time.
      assertThat(servers.jumpsAhead()).hasSize(2);
    }
  }

  private static long millis(StoreKind store, Address server) throws Exception {
    return switch (store) {
      case POSTGRES -> ask(store, server, "SELECT extract(epoch FROM clock_timestamp()) * 1000");
      case MYSQL, MARIADB -> ask(store, server, "SELECT unix_timestamp(sysdate(3)) * 1000");
      case REDIS -> redisMillis(server);
      default -> zooKeeperMillis(server);
    };
  }

  private static long ask(StoreKind store, Address server, String question) throws Exception {
    try (Connection connection = SqlAccess.connect(store, server);
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      assertThat(result.next()).isTrue();
      return result.getLong(1);
    }
  }

  private static long redisMillis(Address server) {
    try (RedisClient redis = RedisAccess.client(server)) {
      List<?> time = (List<?>) redis.executeCommand(new CommandArguments(Protocol.Command.TIME));
      return Long.parseLong(RedisAccess.text(time.get(0))) * 1_000;
    }
  }

  private static long zooKeeperMillis(Address server) throws Exception {
    try (CuratorFramework framework =
        CuratorFrameworkFactory.newClient(server.toString(), new RetryOneTime(100))) {
      framework.start();
      Stat stat = new Stat();
      framework.create().storingStatIn(stat).forPath("/clock-" + System.nanoTime());
      return stat.getCtime();
    }
  }
}
