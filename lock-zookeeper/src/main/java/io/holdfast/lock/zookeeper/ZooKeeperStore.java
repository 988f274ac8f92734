package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * The lock protocol on ZooKeeper: each lock is a container node, with one ephemeral sequential node
 * for each attempt; the lowest of them has the lock, or takes it next, once no mark counts. If that
 * is a reader's, so do all readers up to the first writer.
 */
final class ZooKeeperStore implements ReadWriteStore {
  final Wire wire;
  final SessionTrust trust;
  final OwnNodes nodes;
  final Marks marks;
  final Confirmer confirmer;

  /** The number of tickets that wait. */
  final AtomicInteger waiting = new AtomicInteger();

  private final CuratorFramework framework;
  private final TimeSource time;
  private final SessionWatch watch;
  private final String root;
  private final Background background;
  private final Placing placing;
  private final Holders holders;

  /** The names that writers saw taken. */
  private final SeenTaken seenTaken = new SeenTaken();

  /** The names that readers saw taken: by writers. */
  private final SeenTaken seenTakenByWriters = new SeenTaken();

  private ZooKeeperStore(
      CuratorFramework framework,
      Wire wire,
      SessionTrust trust,
      StoreSettings settings,
      String root,
      List<ACL> acl) {
    this.framework = framework;
    this.wire = wire;
    this.time = settings.time();
    this.root = root;
    this.trust = trust;
    this.background = new Background(settings.clientName());
    this.nodes = new OwnNodes(background, wire, time, acl);
    this.watch = new SessionWatch(wire, trust, nodes, settings.events(), root);
    this.placing = new Placing(wire, nodes, trust, root, acl);
    this.marks = new Marks(wire, root, acl);
    this.confirmer = new Confirmer(wire, trust);
    this.holders = new Holders(wire, marks, root);
  }

  /**
   * Opens the store for one client.
   *
   * @param path the path of the locks, within the framework's namespace
   * @param givenAcl the ACL of all nodes below it; null for that of the path itself
   * @throws IllegalStateException the framework is not started, or its session lacks a right
   */
  static ZooKeeperStore open(
      CuratorFramework framework, String path, @Nullable List<ACL> givenAcl, StoreSettings settings)
      throws StoreException {
    if (framework.getState() != CuratorFrameworkState.STARTED) {
      throw new IllegalStateException("The CuratorFramework is "
          + framework.getState()
          + ": start() it before the lock client is built, and close it afterwards");
    }
    Wire wire = new Wire(framework, settings.time(), settings.storeTimeout());
    SessionTrust trust = new SessionTrust(settings.time());
    SessionTrust.Request request = trust.request(wire.handle());
    String root = ZKPaths.fixForNamespace(framework.getNamespace(), path);
    List<ACL> acl = new LocksPath(framework, wire, root).open(givenAcl);
    trust.noteAnswered(request);
    ZooKeeperStore store =
        new ZooKeeperStore(behindView(framework, wire), wire, trust, settings, root, acl);
    store.watch.start(store.framework, store.background);
    store.nodes.start();
    return store;
  }

  /**
   * Returns the framework behind a view with a namespace; the argument itself if it is no view. A
   * view does not tell when the framework is being closed, and Curator shows the framework behind
   * it only to callbacks.
   */
  private static CuratorFramework behindView(CuratorFramework framework, Wire wire)
      throws StoreException {
    try {
      var unused = framework.getCuratorListenable();
      return framework;
    } catch (UnsupportedOperationException e) {
      CompletableFuture<Answer<CuratorFramework>> shown = new CompletableFuture<>();
      BackgroundCallback callback = (found, event) -> shown.complete(new Answer<>(Code.OK, found));
      try {
        var unused = framework.checkExists().inBackground(callback).forPath("/");
      } catch (Exception refused) {
        throw StoreException.refused("Curator sent no request: " + refused, refused);
      }
      return wire.await(shown, wire.deadline()).get();
    }
  }

  @Override
  public void checkOptions(LockOptions options) {
    // Everything that the engine allows is supported: this client ends leases by their TTL itself,
    // and a session that is trusted for less is confirmed in between.
  }

  // Acquiring

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = wire.deadline();
    String parent = Names.path(root, claim.key());
    boolean shared = Names.isShared(claim);
    SeenTaken seen = shared ? seenTakenByWriters : seenTaken;
    if (seen.contains(parent) && isTaken(parent, shared, deadline)) {
      return Optional.empty();
    }
    Placing.Placed placed = placing.place(claim, parent, deadline);
    OwnNode node = placed.node();
    try {
      Optional<Grant> grant = Optional.empty();
      Line line = placed.line();
      if (line.blocker(line.indexOf(node.name()), shared) == null) {
        Duration rest = marks.clearOrRest(placed.zk(), node, line.marks(), deadline);
        if (rest == null) {
          throw StoreException.unanswered("Our node vanished as the lock was acquired", null);
        } else if (rest.isZero()) {
          grant = Optional.of(grant(placed.zk(), node, placed.trusted(), deadline));
        }
      }
      seen.note(parent, grant.isEmpty());
      return grant;
    } finally {
      if (node.grantIfAny() == null) {
        node.abandon();
        leaveQuietly(node, deadline);
      }
    }
  }

  /**
   * Whether the line has a node, or a writer's if a reader asks, according to a server that has
   * caught up with the leader. Writes nothing.
   */
  private boolean isTaken(String parent, boolean shared, Deadline deadline) throws StoreException {
    ZooKeeper zk = wire.handle();
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    // Marks alone do not count: whether their time is over, only the leader's clock tells, and only
    // a write shows it.
    if (!listed.isOk()) {
      return false;
    }
    Line line = Line.of(parent, listed.get());
    return line.blocker(line.places().size(), shared) != null;
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Deadline deadline = wire.deadline();
    Placing.Placed placed = placing.place(claim, Names.path(root, claim.key()), deadline);
    LineTicket ticket = new LineTicket(this, placed.node(), wakeUp);
    boolean done = false;
    try {
      Ticket.Status status =
          ticket.takeOrWatch(placed.zk(), placed.line(), placed.trusted(), deadline);
      done = true;
      if (status instanceof Ticket.Granted granted) {
        return new Acquisition.Granted(granted.grant());
      }
      if (status instanceof Ticket.Waiting waiting) {
        return new Acquisition.Queued(ticket, waiting.recheckAfter());
      }
      throw StoreException.unanswered("Our node vanished as the lock was acquired", null);
    } finally {
      if (!done) {
        ticket.forget();
      }
    }
  }

  /**
   * Makes a grant of a node whose turn has come.
   *
   * @param trusted for how long the session is certain to live
   * @param deadline that of the engine's call, from which the grant's time counts
   */
  Grant grant(ZooKeeper zk, OwnNode node, SessionTrust.Lifetime trusted, Deadline deadline)
      throws StoreException {
    if (!SessionTrust.isEnough(zk, trusted)) {
      node.abandon();
      throw SessionTrust.outOfTouch();
    }
    Grant grant = node.session() == zk.getSessionId()
        ? node.grant(time.nanos(), trusted.countedFrom(deadline.startNanos()))
        : null;
    // When a session ends, its handle is closed, it is forgotten (or the framework is closed), and
    // then the holders of grants are told. So a grant that came too late for that is noticed here.
    if (grant == null
        || trust.left(zk).lives().isZero()
        || node.isHandleClosed()
        || !wire.isOpen()) {
      node.abandon();
      throw StoreException.unanswered(
          "The session ended, or the machine slept, as the lock was acquired", null);
    }
    return grant;
  }

  // Giving back

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Deadline deadline = wire.deadline();
    OwnNode node = ((ZooKeeperGrant) grant).node();
    // So that the clean-up does not delete the node meanwhile: its absence would look like a loss.
    boolean mine = node.inUse.compareAndSet(false, true);
    try {
      node.release(time.nanos(), holdFor);
      while (true) {
        ZooKeeper zk = wire.handle();
        boolean sentBefore = node.releaseSent.getAndSet(true);
        Duration holdLeft = node.holdLeft(time.nanos());
        Answer<?> answer = holdLeft.isZero()
            ? wire.await(Wire.delete(zk, node.path()), deadline)
            : wire.await(Wire.multi(zk, nodes.prepareEnd(node, holdLeft)), deadline);
        if (answer.isOk() || answer.isAbsent()) {
          node.releaseSent.set(false);
          nodes.noteDeleted(node);
          // If the node is absent after a deletion whose answer was lost, that deletion was carried
          // out, or a forced release was; unless the session has ended, and perhaps the node with
          // it.
          boolean mayBeOurs = sentBefore && zk.getSessionId() == node.session();
          ReleaseOutcome absent =
              mayBeOurs ? ReleaseOutcome.RELEASED_OR_LOST : ReleaseOutcome.ALREADY_LOST;
          return answer.isOk() ? ReleaseOutcome.RELEASED : absent;
        }
        wire.pauseBeforeRetry(answer, deadline);
      }
    } finally {
      if (mine) {
        node.inUse.set(false);
      }
    }
  }

  /** Deletes an attempt's node. */
  void leave(OwnNode node, Deadline deadline) throws StoreException {
    boolean unused = wire.deleteIfThere(node.path(), deadline);
    nodes.noteDeleted(node);
  }

  /** Deletes an attempt's node. If that fails, the background does it. */
  private void leaveQuietly(OwnNode node, Deadline deadline) {
    try {
      leave(node, deadline);
    } catch (StoreException e) {
      // The node is abandoned, so the background deletes it once there is a connection.
    }
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    OwnNode node = nodes.find(claim);
    if (node != null) {
      node.abandon();
    }
    String parent = Names.path(root, claim.key());
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    if (!listed.isAbsent()) {
      listed.requireOk();
    }
    for (String name : OwnNodes.ofAttempt(listed, claim)) {
      boolean unused = wire.deleteIfThere(parent + "/" + name, deadline);
    }
    if (node != null) {
      nodes.noteGone(node);
    }
  }

  // Holding

  /** All leases of the session are one group: they live and end together. */
  @Override
  public Object renewalGroup(Grant grant) {
    return ((ZooKeeperGrant) grant).node().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return confirmAndExtend(grants, Claim::ttl).stream()
        .map(validFor -> validFor.<Renewal>map(Renewal.Renewed::new).orElseGet(Renewal.Lost::new))
        .toList();
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return confirmAndExtend(List.of(grant), unused -> ttl).get(0);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return confirmAndExtend(grants, unused -> Duration.ZERO);
  }

  /**
   * Asks which grants still have their locks, and extends those to at least these TTLs. Only this
   * client knows the end of a TTL. It moves that end once the node is known to exist, and not
   * before: if the request fails, the node must be deleted when the lease ends.
   *
   * @return for each grant, how long it is valid from the call on; empty: no longer
   */
  private List<Optional<Duration>> confirmAndExtend(
      List<Grant> grants, Function<Claim, Duration> ttl) throws StoreException {
    Deadline deadline = wire.deadline();
    long calledNanos = deadline.startNanos();
    List<OwnNode> candidates = grants.stream()
        .map(grant -> ((ZooKeeperGrant) grant).node())
        .filter(node -> node.stands(calledNanos))
        .toList();
    Map<OwnNode, SessionTrust.Lifetime> trusted = confirmer.confirm(candidates, deadline);
    List<Optional<Duration>> validFor = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      OwnNode node = ((ZooKeeperGrant) grant).node();
      validFor.add(Optional.ofNullable(trusted.get(node))
          .flatMap(lives -> node.extend(calledNanos, ttl.apply(grant.claim()), time.nanos())
              .map(left -> Collections.min(List.of(left, lives.countedFrom(calledNanos))))));
    }
    return validFor;
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

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return holders.readers(key);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    String parent = Names.path(root, key);
    Deadline deadline = wire.deadline();
    ZooKeeper zk = wire.handle();
    Answer<List<String>> listed = wire.untilAnswered(() -> Wire.listNewest(zk, parent), deadline);
    if (listed.isAbsent()) {
      return false;
    }
    Line line = Line.of(parent, listed.get());
    String mark = Names.ofMark(number);
    if (line.marks().contains(mark)) {
      return wire.deleteIfThere(parent + "/" + mark, deadline);
    }
    if (!line.marks().isEmpty()) {
      return false;
    }
    for (Wire.Reading reading : Holders.readInside(zk, parent, line)) {
      Answer<Wire.Node> read = wire.untilRead(reading, deadline);
      if (!read.isAbsent() && read.get().stat().getCzxid() == number) {
        return wire.deleteIfThere(reading.path(), deadline);
      }
    }
    return false;
  }

  @Override
  public void close() {
    watch.end(framework);
    // The nodes that are left are deleted in the background, as soon as there is a connection.
    nodes.close();
  }

  @Override
  public String toString() {
    return "ZooKeeperStore at " + root;
  }
}
