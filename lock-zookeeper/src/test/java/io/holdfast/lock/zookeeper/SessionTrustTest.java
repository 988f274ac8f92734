package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** What is said of a session whose timeout changes, without a server. */
class SessionTrustTest {
  private final Stores.JumpingTime time = new Stores.JumpingTime();
  private final SessionTrust trust = new SessionTrust(time);

  /** A handle that never connects, and says of its session what it is told to. */
  @SuppressWarnings("try") // close() is ZooKeeper's, and can be interrupted
  private static final class Handle extends ZooKeeper {
    private volatile Duration timeout;

    Handle(Duration timeout) throws IOException {
      super("127.0.0.1:1", 1_000, event -> {});
      this.timeout = timeout;
    }

    void reconnect(Duration lower) {
      timeout = lower;
    }

    @Override
    public long getSessionId() {
      return 1;
    }

    @Override
    public int getSessionTimeout() {
      return (int) timeout.toMillis();
    }
  }

  @Test
  void whatWasSaidBeforeTheFirstOfTwoLoweringsIsNotForgotten() throws Exception {
    Handle zk = new Handle(Duration.ofSeconds(100));
    try {
      assertThat(trust.confirmed(trust.asking(zk))).isEqualTo(Duration.ofSeconds(50));
      zk.reconnect(Duration.ofSeconds(50));
      trust.connected(zk);
      zk.reconnect(Duration.ofSeconds(20));
      trust.connected(zk);
      // Later than half of the second timeout, sooner than half of the first.
      time.jump(Duration.ofSeconds(40));
      assertThat(trust.isOverdrawn(zk, Duration.ZERO)).isTrue();
    } finally {
      zk.close();
    }
  }
}
