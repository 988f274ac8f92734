package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Looks after the framework's session: tells what happens to it, and gives it signs of life, since
 * a session of which nothing was heard lately can't be trusted.
 *
 * <p>A loss is told to those that have a grant by then. Before, all that is known of the session is
 * forgotten, and who gets a grant looks after that whether anything is known.
 */
final class SessionWatch implements ConnectionStateListener {
  private static final long LOOK_MILLIS = 1_000;

  /** More than the time between two looks. */
  private static final Duration OVERDRAWN_MARGIN = Duration.ofMillis(1_500);

  private final Wire wire;
  private final SessionTrust trust;
  private final OwnNodes nodes;
  private final StoreEvents events;
  private final String root;

  SessionWatch(Wire wire, SessionTrust trust, OwnNodes nodes, StoreEvents events, String root) {
    this.wire = wire;
    this.trust = trust;
    this.nodes = nodes;
    this.events = events;
    this.root = root;
  }

  void start(Background background) {
    background.repeat(LOOK_MILLIS, this::look);
  }

  private void look() {
    ZooKeeper zk = handleIfAny();
    if (zk != null && (trust.isQuiet(zk) || !zk.getState().isConnected())) {
      giveSignOfLife();
    }
    if (zk != null && trust.isOverdrawn(zk, OVERDRAWN_MARGIN)) {
      grants().forEach(this::lose);
    }
  }

  /** Null: the framework is closed, and the session with it. */
  private @Nullable ZooKeeper handleIfAny() {
    try {
      return wire.handle();
    } catch (StoreException e) {
      return null;
    }
  }

  private void giveSignOfLife() {
    ZooKeeper zk = handleIfAny();
    if (zk == null) {
      return;
    }
    SessionTrust.Asked asked = trust.asking(zk);
    var unused = Wire.stat(zk, root).thenAccept(answer -> {
      if (answer.isConnectionLost()) {
        trust.disconnected(asked);
      } else if (!answer.isSessionOver()) {
        trust.answered(asked);
      }
    });
  }

  @Override
  public void stateChanged(CuratorFramework framework, ConnectionState state) {
    switch (state) {
      case SUSPENDED, READ_ONLY -> {
        grants().forEach(events::suspended);
        // The younger it is, the more is proved by the reconnect.
        giveSignOfLife();
      }
      case LOST -> {
        trust.forget();
        grants().forEach(this::lose);
      }
      case CONNECTED, RECONNECTED -> connected();
    }
  }

  private void connected() {
    ZooKeeper zk = handleIfAny();
    if (zk == null) {
      return;
    }
    trust.connected(zk);
    long session = zk.getSessionId();
    for (ZooKeeperGrant grant : grants()) {
      if (session != 0 && grant.node().session() != session) {
        lose(grant);
      }
    }
  }

  private void lose(ZooKeeperGrant grant) {
    // The session may not be over yet where Curator only thinks so; then the node must go.
    grant.node().abandon();
    events.lost(grant, LeaseLoss.Reason.SESSION_LOST);
  }

  private List<ZooKeeperGrant> grants() {
    List<ZooKeeperGrant> grants = new ArrayList<>();
    for (OwnNode node : nodes.all()) {
      ZooKeeperGrant grant = node.grantIfAny();
      if (grant != null) {
        grants.add(grant);
      }
    }
    return grants;
  }
}
