package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
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
 * is a reader's, so do all readers up to the first writer. A semaphore is such a node, too, and its
 * permits are in the names of the attempts' nodes.
 */
final class ZooKeeperStore implements PermitStore {
  final Wire wire;
  final SessionTrust trust;
  final OwnNodes nodes;
  final Marks marks;
  final Acquiring acquiring;

  private final CuratorFramework framework;
  private final TimeSource time;
  private final SessionWatch watch;
  private final String root;
  private final Background background;
  private final Confirmer confirmer;
  private final Holders holders;

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
    this.marks = new Marks(wire, root, acl);
    this.confirmer = new Confirmer(wire, trust);
    this.acquiring = new Acquiring(
        wire,
        trust,
        nodes,
        new Placing(wire, nodes, trust, root, acl),
        marks,
        confirmer,
        time,
        root);
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
    store.watch.start(store.framework);
    store.background.start(store.nodes::runCleanUp, store.watch::pollSession);
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
    return acquiring.tryAcquire(claim);
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return acquiring.acquireOrQueue(claim, wakeUp);
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
          if (answer.isOk() && holdLeft.isZero()) {
            acquiring.noteReleased(node);
          }
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
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return holders.permits(key);
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
    for (Place mark : line.marks()) {
      if (mark.name().startsWith(Names.ofMark(number))) {
        return wire.deleteIfThere(parent + "/" + mark.name(), deadline);
      }
    }
    if (!line.marks().isEmpty() && key.kind() == LockKind.MUTEX) {
      return false;
    }
    for (Wire.Reading reading : Holders.readInside(zk, parent, line)) {
      Answer<Wire.Node> read = wire.untilRead(reading, deadline);
      if (!read.isAbsent() && read.get().number() == number) {
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
