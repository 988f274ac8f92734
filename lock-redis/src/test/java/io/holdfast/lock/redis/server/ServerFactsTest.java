package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.Logged;
import io.holdfast.lock.testsupport.ServerContainer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.util.Pool;

/** The facts that a server tells of itself when a client is built. */
class ServerFactsTest {

  @ParameterizedTest
  @CsvSource({
    "Redis, no, 0",
    "Redis, yes, 1",
    "Valkey, no, 0",
    "Valkey, yes, 1",
  })
  void itTellsWhetherItHasAnAppendOnlyFile(String server, String appendOnly, String told)
      throws StoreException {
    Image image = server.equals("Redis") ? Image.REDIS : Image.VALKEY;
    try (ServerContainer started =
            ServerContainer.start(image, "--save", "", "--appendonly", appendOnly);
        RedisClient client = Stores.client(Stores.address(started), 2)) {
      assertThat(ask(client).appendOnly()).isEqualTo(told);
      assertThat(ask(client).findProblem()).isEmpty();
    }
  }

  @Test
  void aServerThatForgetsByACrashIsWarnedOf() throws Exception {
    ServerFacts facts = new ServerFacts(8 << 16, "0");
    assertThat(Logged.during(() -> assertThat(facts.findProblem()).isEmpty()))
        .contains("WARN", "Redis can forget a lock that it has confirmed", "appendonly no");
  }

  @Test
  void whoMayNotAskIsNotTold() throws StoreException {
    try (RedisClient admin = Stores.client()) {
      Stores.allow(admin, "uninformed", "");
    }
    try (RedisClient client = RedisClient.builder()
        .hostAndPort(Stores.sharedServer())
        .clientConfig(DefaultJedisClientConfig.builder()
            .user("uninformed")
            .password("secret")
            .build())
        .build()) {
      assertThat(ask(client).appendOnly()).isEmpty();
      assertThat(ask(client).findProblem()).isEmpty();
    }
  }

  private static ServerFacts ask(RedisClient client) throws StoreException {
    Pool<Connection> pool = client.getPool();
    try (Server server = new Server(key -> pool, Stores.STORE_TIMEOUT, "server-facts-test")) {
      return ServerFacts.ask(server, "holdfast");
    }
  }
}
