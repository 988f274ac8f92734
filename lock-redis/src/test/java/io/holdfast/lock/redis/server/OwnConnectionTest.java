package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.testsupport.MovableTime;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** The connection beside the pool. */
class OwnConnectionTest {
  @Test
  void aConnectionOfOurOwnIsUsedForAMinuteAndNoLonger() throws Exception {
    MovableTime time = new MovableTime();
    try (RedisClient redis = Stores.client();
        OwnConnection own = new OwnConnection(redis.getPool(), time)) {
      long first = own.use(deadline(), OwnConnectionTest::id);
      time.pass(OwnConnection.AGE_MAX.minusSeconds(10));
      assertThat(own.<Long>use(deadline(), OwnConnectionTest::id)).isEqualTo(first);
      time.pass(Duration.ofSeconds(11));
      assertThat(own.<Long>use(deadline(), OwnConnectionTest::id)).isNotEqualTo(first);
    }
  }

  private static Deadline deadline() {
    return Server.deadlineAfter(Stores.STORE_TIMEOUT);
  }

  private static long id(Connection connection) {
    connection.sendCommand(Protocol.Command.CLIENT, "ID");
    return connection.getIntegerReply();
  }
}
