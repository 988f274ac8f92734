package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.UUID;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/** The path of the locks: created if it is missing, and tried out, when a client is opened. */
final class LocksPath {
  private static final byte[] NOTHING = new byte[0];

  /** The text that a server shows in place of a digest to a session without the right ADMIN. */
  private static final String MASKED = ":x";

  /** The rights that the steps of a trial need. */
  private static final List<String> RIGHTS = List.of("CREATE", "CREATE", "READ", "WRITE", "DELETE");

  private final CuratorFramework framework;
  private final Wire wire;
  private final String root;
  private final Deadline deadline;

  /** @param root the path with the framework's namespace */
  LocksPath(CuratorFramework framework, Wire wire, String root) throws StoreException {
    this.framework = framework;
    this.wire = wire;
    this.root = root;
    this.deadline = wire.deadline();
  }

  /**
   * Returns the ACL of the nodes below the path.
   *
   * @param given what the user wants it to be; null for the ACL of the path itself
   * @throws IllegalStateException the session may not make or use the path, or read its ACL, or not
   *     do there what locks do
   */
  List<ACL> open(@Nullable List<ACL> given) throws StoreException {
    requireVersion();
    List<ACL> acl = ownAcl();
    if (given == null) {
      requireUnmasked(acl);
    } else {
      acl = given;
    }
    requireRights(acl);
    return acl;
  }

  /**
   * Checks that locks work on the server's version, by a read in a {@code multi}, which older ones
   * refuse.
   */
  private void requireVersion() throws StoreException {
    ZooKeeper zk = wire.handle();
    Answer<?> read = wire.untilAnswered(() -> Wire.multi(zk, List.of(Op.getData(root))), deadline);
    if (read.code() == Code.UNIMPLEMENTED) {
      throw new IllegalStateException("The server is older than ZooKeeper 3.6, which is the oldest"
          + " that is supported: update it");
    }
  }

  private List<ACL> ownAcl() throws StoreException {
    Answer<List<ACL>> acl = readAcl();
    if (acl.isAbsent()) {
      make(root);
      acl = readAcl();
    }
    if (acl.code() == Code.NOAUTH) {
      throw new IllegalStateException("This session may not use "
          + root
          + ": give the framework the authentication that its ACL asks for, or the locks another"
          + " path");
    }
    return acl.get();
  }

  private Answer<List<ACL>> readAcl() throws StoreException {
    ZooKeeper zk = wire.handle();
    return wire.untilAnswered(() -> Wire.acl(zk, root), deadline);
  }

  /**
   * Makes a node, and those above it that are missing, with the ACLs of the framework's provider.
   */
  private void make(String path) throws StoreException {
    Answer<?> made = tryToMake(path);
    int slash = path.lastIndexOf('/');
    if (made.isAbsent() && slash > 0) {
      make(path.substring(0, slash));
      made = tryToMake(path);
    }
    if (made.code() == Code.NOAUTH) {
      throw new IllegalStateException(
          "This session may not make " + path + ": make it, or give the session the right to",
          made.failure());
    }
    if (made.isAbsent() && slash == 0) {
      throw new IllegalStateException("The connect string "
          + framework.getZookeeperClient().getCurrentConnectionString()
          + " ends with a path (the chroot) that does not exist: make it, or leave it out");
    }
    // Another client may have been first.
    if (made.code() != Code.NODEEXISTS) {
      made.requireOk();
    }
  }

  /**
   * Creates a node with the ACL of the framework's provider. The request is our own {@code multi},
   * not Curator's {@code create()}: for that one, ZooKeeper looks for null in the list of ACLs, at
   * which a list of {@code List.of} throws.
   */
  private Answer<List<OpResult>> tryToMake(String path) throws StoreException {
    Op create;
    try {
      CuratorFramework withoutNamespace = framework.usingNamespace(null);
      create = withoutNamespace.transactionOp().create().forPath(path, NOTHING).get();
    } catch (Exception e) {
      throw StoreException.refused("Curator can't make " + path + ": " + e, e);
    }
    ZooKeeper zk = wire.handle();
    return wire.untilAnswered(() -> Wire.multi(zk, List.of(create)), deadline);
  }

  private void requireUnmasked(List<ACL> acl) {
    for (ACL one : acl) {
      if (one.getId().getScheme().equals("digest") && one.getId().getId().endsWith(MASKED)) {
        throw new IllegalStateException("This session may not read the ACL of "
            + root
            + " in full, and so can't give it to the nodes of locks: give the session the right"
            + " ADMIN there, or tell the builder the acl(...) for the nodes of locks");
      }
    }
  }

  /** Tries what locks do, in a request whose last step fails, so that nothing of it is done. */
  private void requireRights(List<ACL> acl) throws StoreException {
    String lock = root + "/trial-" + UUID.randomUUID();
    String node = lock + "/node";
    List<Op> steps = List.of(
        Op.create(lock, NOTHING, acl, CreateMode.CONTAINER),
        Op.create(node, NOTHING, acl, CreateMode.EPHEMERAL),
        Op.check(node, -1),
        Op.setData(node, NOTHING, -1),
        Op.delete(node, -1),
        Op.check(node, -1));
    ZooKeeper zk = wire.handle();
    Answer<List<OpResult>> tried = wire.untilAnswered(() -> Wire.multi(zk, steps), deadline);
    int failed = Wire.firstFailed(tried);
    if (tried.code() == Code.NOAUTH) {
      throw new IllegalStateException("This session lacks the right "
          + RIGHTS.get(failed)
          + (failed == 0 ? " at " : " at the nodes of locks below ")
          + root
          + ": it needs all rights except ADMIN, at that path and by the ACL of those nodes, which"
          + " is the path's own unless you tell the builder another acl(...)");
    }
    if (failed < RIGHTS.size()) {
      throw tried.failure();
    }
  }
}
