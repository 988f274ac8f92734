package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Watches the framework's session: reports what happens to it, and sends signs of life, since a
 * session without a recent one can't be trusted.
 *
 * <p>When the session is lost, everything known about it is forgotten first, and then the holders
 * of grants are told. A thread that has just got a grant makes sure afterwards that something is
 * known about the session, so that none is missed. A grant that is made just as the handle is
 * replaced may be missed once; the next poll finds it.
 */
final class SessionWatch implements ConnectionStateListener, CuratorListener {
  /**
   * The leases of a session that is trusted for too long are given up this long before it may end:
   * more than the time between two polls.
   */
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

  /** @param framework the one that closes the session, and no view of it */
  void start(CuratorFramework framework) {
    framework.getConnectionStateListenable().addListener(this);
    framework.getCuratorListenable().addListener(this);
  }

  void end(CuratorFramework framework) {
    framework.getConnectionStateListenable().removeListener(this);
    framework.getCuratorListenable().removeListener(this);
  }

  /** Finds out by itself what no event told, and gives a sign of life if it is time for one. */
  void pollSession() {
    // Read first, so that no grant in the list is of a later session than what is found out below.
    List<ZooKeeperGrant> grants = grants();
    // Perhaps Curator had no handle when it told of a connection.
    noteSession();
    ZooKeeper zk = handleIfAny();
    if (zk != null && (trust.isQuiet(zk) || !zk.getState().isConnected())) {
      giveSignOfLife();
    }
    // Curator closes a handle that it replaces, and tells nobody until the next one is connected.
    grants.stream().filter(grant -> grant.node().isHandleClosed()).forEach(this::lose);
    // Without a handle, too: Curator may give none.
    if (trust.isOverdrawn(OVERDRAWN_MARGIN)) {
      grants.forEach(this::lose);
    }
  }

  /**
   * Returns the handle, or null if Curator gives none: the framework is closed, or Curator failed
   * in the background.
   */
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
    SessionTrust.Request request = trust.request(zk);
    var unused = Wire.stat(zk, root).thenAccept(answer -> {
      if (answer.isConnectionLost()) {
        trust.noteDisconnected(request);
      } else if (!answer.isSessionOver()) {
        trust.noteAnswered(request);
      }
    });
  }

  @Override
  public void stateChanged(CuratorFramework framework, ConnectionState state) {
    switch (state) {
      case SUSPENDED, READ_ONLY -> {
        grants().forEach(events::suspended);
        // The latest sign of life that an outage allows: after the reconnect, it counts from this
        // moment.
        giveSignOfLife();
      }
      case LOST -> onSessionOver();
      case CONNECTED, RECONNECTED -> noteSession();
    }
  }

  /**
   * Hears that the framework is being closed, on the thread that closes it and before it closes the
   * session. If somebody closes the handle itself, that is heard when the session has been closed.
   */
  @Override
  public void eventReceived(CuratorFramework framework, CuratorEvent event) {
    WatchedEvent watched = event.getWatchedEvent();
    if (event.getType() == CuratorEventType.CLOSING
        || (watched != null && watched.getState() == KeeperState.Closed)) {
      onSessionOver();
    }
  }

  /** Forgets the session, which is over, and then tells the holders of grants. */
  private void onSessionOver() {
    trust.forget();
    grants().forEach(this::lose);
  }

  /**
   * Notes the handle's session, and tells the holders of grants in any other session that theirs
   * has ended.
   */
  private void noteSession() {
    // Read before the handle, so that no grant in the list is of a later session than the handle's.
    List<ZooKeeperGrant> grants = grants();
    ZooKeeper zk = handleIfAny();
    if (zk == null) {
      return;
    }
    trust.noteSession(zk);
    long session = zk.getSessionId();
    for (ZooKeeperGrant grant : grants) {
      if (session != 0 && grant.node().session() != session) {
        lose(grant);
      }
    }
  }

  /**
   * Tells the holder of a grant whose node was not given up of the loss, and only then gives the
   * node up. If the telling fails, the node stays: a holder that does not know must keep others
   * waiting.
   */
  private void lose(ZooKeeperGrant grant) {
    if (grant.node().isWanted()) {
      events.lost(grant, LeaseLoss.Reason.SESSION_LOST);
      // If Curator only assumes that the session is over, it may still exist; then the node must be
      // deleted.
      grant.node().abandon();
    }
  }

  private List<ZooKeeperGrant> grants() {
    return nodes.all().stream()
        .map(OwnNode::grantIfAny)
        .filter(Objects::nonNull)
        .toList();
  }
}
