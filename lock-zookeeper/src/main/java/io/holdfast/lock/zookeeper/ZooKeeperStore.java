package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * The protocol on ZooKeeper: a container for each lock, in it one ephemeral sequential node for
 * each attempt; the lowest has the lock.
 *
 * <p>An attempt's node is made and the line listed in one round trip, since the server carries out
 * what one session sends in order.
 */
final class ZooKeeperStore implements LockStore {
  private static final byte[] NOTHING = new byte[0];

  private final CuratorFramework framework;
  private final Wire wire;
  private final TimeSource time;
  private final StoreEvents events;
  private final String root;
  private final List<ACL> acl;
  private final OwnNodes nodes;
  private final Marks marks;
  private final Checks checks;
  private final Holders holders;
  private final Confirmation confirmation = new Confirmation();
  private final ConnectionStateListener listener = this::stateChanged;

  private ZooKeeperStore(
      CuratorFramework framework, Wire wire, StoreSettings settings, String root, List<ACL> acl) {
    this.framework = framework;
    this.wire = wire;
    this.time = settings.time();
    this.events = settings.events();
    this.root = root;
    this.acl = acl;
    this.nodes = new OwnNodes(settings.clientName(), wire, time, acl);
    this.marks = new Marks(wire, root);
    this.checks = new Checks(wire, time, confirmation);
    this.holders = new Holders(wire, marks, root);
  }

  /**
   * Opens the store for one client.
   *
   * @param path of the locks, within the framework's namespace
   * @throws IllegalStateException the framework is not started, or may not use the path
   */
  static ZooKeeperStore open(CuratorFramework framework, String path, StoreSettings settings)
      throws StoreException {
    if (framework.getState() != CuratorFrameworkState.STARTED) {
      throw new IllegalStateException("The CuratorFramework is "
          + framework.getState()
          + ": start() it before the lock client is built, and close it afterwards");
    }
    Wire wire = new Wire(framework, settings.time(), settings.storeTimeout());
    String root = ZKPaths.fixForNamespace(framework.getNamespace(), path);
    Answer<List<ACL>> acl = readAcl(wire, root);
    if (acl.isAbsent()) {
      makeRoot(framework, path);
      acl = readAcl(wire, root);
    }
    if (acl.code() == Code.NOAUTH) {
      throw new IllegalStateException("This session may not use "
          + root
          + ": give the framework the authentication that its ACL asks for, or the locks another"
          + " path");
    }
    ZooKeeperStore store = new ZooKeeperStore(framework, wire, settings, root, acl.get());
    framework.getConnectionStateListenable().addListener(store.listener);
    return store;
  }

  private static Answer<List<ACL>> readAcl(Wire wire, String root) throws StoreException {
    Deadline deadline = wire.deadline();
    while (true) {
      Answer<List<ACL>> answer = wire.await(Wire.acl(wire.handle(), root), deadline);
      if (answer.code() != Code.CONNECTIONLOSS || deadline.isOver()) {
        return answer;
      }
      wire.pause(deadline);
    }
  }

  private static void makeRoot(CuratorFramework framework, String path) throws StoreException {
    try {
      String unused = framework.create().creatingParentsIfNeeded().forPath(path, NOTHING);
    } catch (KeeperException.NodeExistsException e) {
      // Somebody else was first.
    } catch (KeeperException.NoAuthException e) {
      throw new IllegalStateException(
          "This session may not make " + path + ": make it, or give the session the right to", e);
    } catch (Exception e) {
      throw StoreException.refused("The path of the locks could not be made: " + e, e);
    }
  }

  Wire wire() {
    return wire;
  }

  OwnNodes nodes() {
    return nodes;
  }

  Confirmation confirmation() {
    return confirmation;
  }

  TimeSource time() {
    return time;
  }

  Marks marks() {
    return marks;
  }

  private String parent(LockKey key) {
    return root + "/" + Names.of(key);
  }

  @Override
  public void checkOptions(LockOptions options) {
    // All that the engine allows: a TTL is kept here, and a session that is trusted for less is
    // asked about in between.
  }

  // Acquiring

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = wire.deadline();
    OwnNode node = null;
    boolean settled = false;
    try {
      Placed placed = place(claim, deadline);
      node = placed.node();
      Line line = placed.line();
      Optional<Grant> grant = Optional.empty();
      if (line.indexOf(node.name()) == 0
          && marks.settle(placed.zk(), node, line.marks(), deadline).isZero()) {
        grant = Optional.of(grant(placed.zk(), node, trusted(node)));
        settled = true;
      }
      return grant;
    } finally {
      if (!settled && node != null) {
        node.abandon();
        leaveQuietly(node);
      }
    }
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Deadline deadline = wire.deadline();
    Placed placed = place(claim, deadline);
    LineTicket ticket = new LineTicket(this, placed.node(), wakeUp);
    boolean settled = false;
    try {
      Ticket.Status status =
          ticket.look(placed.zk(), placed.line(), trusted(placed.node()), deadline);
      settled = true;
      if (status instanceof Ticket.Granted granted) {
        return new Acquisition.Granted(granted.grant());
      }
      return new Acquisition.Queued(ticket, ((Ticket.Waiting) status).recheckAfter());
    } finally {
      if (!settled) {
        ticket.forget();
      }
    }
  }

  /** A node that was made, and the line just after. */
  private record Placed(ZooKeeper zk, OwnNode node, Line line) {}

  private Placed place(Claim claim, Deadline deadline) throws StoreException {
    String parent = parent(claim.key());
    OwnNode node = nodes.enter(claim, parent);
    boolean placed = false;
    try {
      while (true) {
        ZooKeeper zk = wire.handle();
        Sent sent = send(zk, node);
        Answer<List<String>> listed = wire.await(sent.listing(), deadline);
        // Answers come in order, so this one has come, and the thread was woken once for both.
        Answer<Wire.Made> made = wire.await(sent.making(), deadline);
        if (made.isAbsent()) {
          makeParents(zk, parent);
          sent = send(zk, node);
          listed = wire.await(sent.listing(), deadline);
          made = wire.await(sent.making(), deadline);
        }
        if (made.isSessionOver() || made.code() == Code.CONNECTIONLOSS) {
          // The next connection or session is on its way. What this one made, if anything, bears
          // the owner id too, and is found below.
          node.mayHaveTwin();
          wire.pauseBeforeRetry(made, deadline);
          continue;
        }
        if (made.isRefusal()) {
          nodes.gone(node);
        }
        made.requireOk();
        confirmation.confirmed(node.session(), sent.sentNanos());
        if (node.hasTwin()) {
          listed = withoutTwins(zk, node, listed, deadline);
        }
        Line line = Line.of(parent, listed.get());
        if (line.indexOf(node.name()) < 0) {
          throw StoreException.unanswered("Our node vanished at once: " + node.path(), null);
        }
        placed = true;
        return new Placed(zk, node, line);
      }
    } finally {
      if (!placed) {
        node.abandon();
      }
    }
  }

  /** Deletes what earlier sendings of this attempt made, and lists anew. */
  private Answer<List<String>> withoutTwins(
      ZooKeeper zk, OwnNode node, Answer<List<String>> listed, Deadline deadline)
      throws StoreException {
    for (String name : OwnNodes.ofOwner(listed, node.claim())) {
      if (!name.equals(node.name())) {
        boolean unused = deleted(zk, node.parent() + "/" + name, deadline);
      }
    }
    return wire.await(Wire.list(zk, node.parent()), deadline);
  }

  /** Requests on their way. */
  private record Sent(
      long sentNanos,
      CompletableFuture<Answer<Wire.Made>> making,
      CompletableFuture<Answer<List<String>>> listing) {}

  private Sent send(ZooKeeper zk, OwnNode node) {
    Claim claim = node.claim();
    // A handle that has never been connected does not know yet; nobody reads it then.
    NodeText text = new NodeText(Duration.ofMillis(zk.getSessionTimeout()), null, claim.holder());
    CompletableFuture<Answer<Wire.Made>> making = new CompletableFuture<>();
    long sentNanos = time.nanos();
    zk.create(
        node.parent() + "/" + Names.ofOwner(claim.ownerId()),
        text.bytes(),
        acl,
        CreateMode.EPHEMERAL_SEQUENTIAL,
        (code, p, ctx, name, stat) -> {
          Wire.Made made = name == null ? null : new Wire.Made(name, stat);
          if (made != null) {
            // Even if nobody waits for it any more.
            node.made(made, zk.getSessionTimeout());
          }
          making.complete(Answer.of(code, made));
        },
        null);
    return new Sent(sentNanos, making, Wire.list(zk, node.parent()));
  }

  /** Sends what makes a lock's node and what is above it; what is there already stays. */
  private void makeParents(ZooKeeper zk, String parent) {
    for (int slash = root.indexOf('/', 1); slash > 0; slash = root.indexOf('/', slash + 1)) {
      Wire.makeIfAbsent(
          zk, root.substring(0, slash), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
    }
    Wire.makeIfAbsent(zk, root, acl, CreateMode.PERSISTENT);
    Wire.makeIfAbsent(zk, parent, acl, CreateMode.CONTAINER);
  }

  /** How long a node's session is sure to live, from when a confirmed write was sent. */
  static Duration trusted(OwnNode node) {
    return ZooKeeperGrant.trusted(node.sessionTimeout());
  }

  /**
   * Makes the first in line the holder.
   *
   * @param trusted how long the session is sure to live, from when the engine asked
   */
  Grant grant(ZooKeeper zk, OwnNode node, Duration trusted) throws StoreException {
    if (node.session() != zk.getSessionId()) {
      node.abandon();
      throw StoreException.unanswered("The session ended as the lock was acquired", null);
    }
    Grant grant = node.grant(time.nanos(), trusted);
    if (grant == null) {
      throw StoreException.unanswered("The attempt was given up meanwhile", null);
    }
    return grant;
  }

  // Giving back

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    OwnNode node = ((ZooKeeperGrant) grant).node();
    // While this is at it, no look deletes the node and so makes it seem lost.
    boolean mine = node.beginCleaning();
    try {
      node.release(time.nanos(), holdFor);
      return release(node);
    } finally {
      if (mine) {
        node.endCleaning();
      }
    }
  }

  private ReleaseOutcome release(OwnNode node) throws StoreException {
    Deadline deadline = wire.deadline();
    while (true) {
      ZooKeeper zk = wire.handle();
      boolean sentBefore = node.deletionSent();
      Duration holdLeft = node.holdLeft(time.nanos());
      Answer<?> answer = holdLeft.isZero()
          ? wire.await(Wire.delete(zk, node.path()), deadline)
          : wire.await(Wire.multi(zk, nodes.ending(node, holdLeft)), deadline);
      if (answer.isOk() || answer.isAbsent()) {
        node.deletionAnswered();
        nodes.deleted(node);
        if (answer.isOk() && !holdLeft.isZero()) {
          nodes.marked(OwnNodes.markPath(node), holdLeft);
        }
        // Absent after a deletion whose answer was lost: that one got through.
        return answer.isOk() || sentBefore ? ReleaseOutcome.RELEASED : ReleaseOutcome.ALREADY_LOST;
      }
      wire.pauseBeforeRetry(answer, deadline);
    }
  }

  /** Deletes an attempt's node. */
  void leave(OwnNode node) throws StoreException {
    Deadline deadline = wire.deadline();
    while (true) {
      Answer<Boolean> answer = wire.await(Wire.delete(wire.handle(), node.path()), deadline);
      if (answer.isOk() || answer.isAbsent()) {
        nodes.deleted(node);
        return;
      }
      wire.pauseBeforeRetry(answer, deadline);
    }
  }

  /** The same; what fails is made up for in the background. */
  private void leaveQuietly(OwnNode node) {
    try {
      leave(node);
    } catch (StoreException e) {
      // It is abandoned, and so deleted as soon as there is a connection.
    }
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    OwnNode node = nodes.find(claim);
    if (node != null) {
      node.abandon();
    }
    String parent = parent(claim.key());
    Deadline deadline = wire.deadline();
    while (true) {
      ZooKeeper zk = wire.handle();
      Answer<List<String>> listed = wire.await(Wire.listNewest(zk, parent), deadline);
      if (listed.isOk() || listed.isAbsent()) {
        for (String name : OwnNodes.ofOwner(listed, claim)) {
          Answer<Boolean> deleted = wire.await(Wire.delete(zk, parent + "/" + name), deadline);
          if (!deleted.isAbsent()) {
            deleted.requireOk();
          }
        }
        if (node != null) {
          nodes.gone(node);
        }
        return;
      }
      wire.pauseBeforeRetry(listed, deadline);
    }
  }

  // Holding

  /** The session: all its leases stand or fall together. */
  @Override
  public Object renewalGroup(Grant grant) {
    return ((ZooKeeperGrant) grant).node().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    long nowNanos = time.nanos();
    List<@Nullable OwnNode> asked = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      OwnNode node = ((ZooKeeperGrant) grant).node();
      // Before it is sent, so that no look deletes it meanwhile.
      asked.add(node.extend(nowNanos) ? node : null);
    }
    List<Boolean> standing = checks.standing(asked);
    List<Renewal> renewals = new ArrayList<>(grants.size());
    for (int i = 0; i < grants.size(); i++) {
      renewals.add(
          standing.get(i)
              ? new Renewal.Renewed(validForOnceMore(grants.get(i)))
              : new Renewal.Lost());
    }
    return renewals;
  }

  private static Duration validForOnceMore(Grant grant) {
    return ((ZooKeeperGrant) grant).validForOnceMore(grant.claim().ttl());
  }

  /**
   * The end of a TTL is kept by this client alone, so extending is putting it off, once the node is
   * known to stand. Not before: after a failure the node is to go when the lease ends.
   */
  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    OwnNode node = ((ZooKeeperGrant) grant).node();
    long askedNanos = time.nanos();
    boolean stands =
        verify(grant).isPresent() && node.extendTo(askedNanos + ttl.toNanos(), time.nanos());
    Duration ttlLeft = stands ? node.ttlLeft(askedNanos) : Duration.ZERO;
    return ttlLeft.isZero()
        ? Optional.empty()
        : Optional.of(((ZooKeeperGrant) grant).validForOnceMore(ttlLeft));
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    OwnNode node = ((ZooKeeperGrant) grant).node();
    Duration ttlLeft = node.ttlLeft(time.nanos());
    if (ttlLeft.isZero() || !checks.standing(List.of(node)).get(0)) {
      return Optional.empty();
    }
    return Optional.of(((ZooKeeperGrant) grant).validForOnceMore(ttlLeft));
  }

  private void stateChanged(CuratorFramework ignored, ConnectionState state) {
    switch (state) {
      case SUSPENDED, READ_ONLY -> grants().forEach(events::suspended);
      case LOST -> grants().forEach(this::lose);
      case CONNECTED, RECONNECTED -> {
        long session = session();
        for (ZooKeeperGrant grant : grants()) {
          if (session != 0 && grant.node().session() != session) {
            lose(grant);
          }
        }
      }
    }
  }

  private void lose(ZooKeeperGrant grant) {
    // The session may not be over yet where Curator only thinks so; then the node must go.
    grant.node().abandon();
    events.lost(grant, LeaseLoss.Reason.SESSION_LOST);
  }

  private long session() {
    try {
      return wire.handle().getSessionId();
    } catch (StoreException e) {
      return 0;
    }
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

  // Administration

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return holders.inspect(key);
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return holders.list(kind, namePrefix, limit);
  }

  private Line line(ZooKeeper zk, String parent, Deadline deadline) throws StoreException {
    Answer<List<String>> listed = wire.await(Wire.listNewest(zk, parent), deadline);
    return listed.isAbsent() ? new Line(List.of(), List.of()) : Line.of(parent, listed.get());
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    String parent = parent(key);
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    Line line = line(zk, parent, deadline);
    for (String name : line.marks()) {
      if (name.equals(Names.ofMark(number))) {
        return deleted(zk, parent + "/" + name, deadline);
      }
    }
    Line.Place head = line.head();
    if (head == null || !line.marks().isEmpty()) {
      return false;
    }
    String path = parent + "/" + head.name();
    Answer<Wire.Text> text = wire.await(Wire.read(zk, path, null), deadline);
    return !text.isAbsent()
        && text.get().stat().getCzxid() == number
        && deleted(zk, path, deadline);
  }

  private boolean deleted(ZooKeeper zk, String path, Deadline deadline) throws StoreException {
    Answer<Boolean> answer = wire.await(Wire.delete(zk, path), deadline);
    if (answer.isAbsent()) {
      return false;
    }
    answer.requireOk();
    return true;
  }

  @Override
  public void close() {
    framework.getConnectionStateListenable().removeListener(listener);
    // What could not be given back is deleted when there is a connection again.
    nodes.close();
  }

  @Override
  public String toString() {
    return "ZooKeeperStore at " + root;
  }
}
