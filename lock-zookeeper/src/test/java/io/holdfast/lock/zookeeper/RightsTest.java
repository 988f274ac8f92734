package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rights that a client needs at the path of the locks, and the user's data there. */
class RightsTest extends ServerTest {
  private static final int ALL_BUT_ADMIN = Perms.READ | Perms.WRITE | Perms.CREATE | Perms.DELETE;

  private final String path = "/rights-" + System.nanoTime();

  private CuratorFramework framework(String user) {
    return closeLater(Frameworks.start(builder(user).build()));
  }

  private CuratorFrameworkFactory.Builder builder(String user) {
    return CuratorFrameworkFactory.builder()
        .connectString(ZooKeeperServer.address(server))
        .authorization("digest", user.getBytes(StandardCharsets.UTF_8))
        .sessionTimeoutMs((int) Frameworks.SESSION_TIMEOUT.toMillis())
        .retryPolicy(new RetryForever(100))
        .ensembleTracker(false);
  }

  private static ACL rights(int rights, String user) throws Exception {
    return new ACL(rights, new Id("digest", DigestAuthenticationProvider.generateDigest(user)));
  }

  @Test
  void aClientWithoutTheRightAdminIsToldAtOnceOrTheAcl() throws Exception {
    List<ACL> acl = List.of(rights(ALL_BUT_ADMIN, "app:secret"), rights(Perms.ALL, "ops:ops"));
    CuratorFramework ops = framework("ops:ops");
    ops.create().withACL(acl).forPath(path);
    CuratorFramework app = framework("app:secret");

    assertThatIllegalStateException()
        .isThrownBy(() -> ZooKeeperLocks.builder(app).path(path).build().close())
        .withMessageContaining("ADMIN")
        .withMessageContaining(path);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ZooKeeperLocks.builder(app).acl(List.of()));

    LockClient client =
        closeLater(ZooKeeperLocks.builder(app).path(path).acl(acl).build());
    for (int i = 0; i < 2; i++) {
      try (Lease lease = client.get("a").tryLock().orElseThrow()) {
        assertThat(client.get("a").inspect()).isPresent();
        String lock = path + "/m-a";
        assertThat(ops.getACL().forPath(lock)).containsExactlyInAnyOrderElementsOf(acl);
        String node = lock + "/" + ops.getChildren().forPath(lock).get(0);
        assertThat(ops.getACL().forPath(node)).containsExactlyInAnyOrderElementsOf(acl);
        lease.verify();
      }
    }
  }

  @Test
  void theFrameworksAclMayBeAListThatForbidsNull() throws Exception {
    List<ACL> acl = List.of(rights(Perms.ALL, "app:secret"));
    CuratorFramework app = closeLater(Frameworks.start(builder("app:secret")
        .aclProvider(new ACLProvider() {
          @Override
          public List<ACL> getDefaultAcl() {
            return acl;
          }

          @Override
          public List<ACL> getAclForPath(String path) {
            return acl;
          }
        })
        .build()));
    String locks = path + "/for/locks";
    LockClient client = closeLater(ZooKeeperLocks.builder(app).path(locks).build());
    Lease lease = client.get("a").tryLock().orElseThrow();
    // While it is held: the server deletes a lock's empty node when it likes.
    for (String made : List.of(path, locks, locks + "/m-a")) {
      assertThat(app.getACL().forPath(made)).as(made).isEqualTo(acl);
    }
    lease.close();
  }

  private static List<ACL> rightsOfAll(int rights) throws Exception {
    return List.of(new ACL(rights, Ids.ANYONE_ID_UNSAFE), rights(Perms.ALL, "ops:ops"));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "CREATE, at, 1",
    "CREATE, at the nodes of locks below, 27",
    "READ, at the nodes of locks below, 30",
    "WRITE, at the nodes of locks below, 29",
    "DELETE, at the nodes of locks below, 23"
  })
  void aMissingRightIsToldBeforeThereIsALock(String missing, String where, int rights)
      throws Exception {
    boolean ofThePath = where.equals("at");
    CuratorFramework ops = framework("ops:ops");
    ops.create().withACL(rightsOfAll(ofThePath ? rights : Perms.ALL)).forPath(path);
    CuratorFramework app = framework("app:secret");
    ZooKeeperLocks.Builder builder =
        ZooKeeperLocks.builder(app).path(path).acl(rightsOfAll(ofThePath ? Perms.ALL : rights));
    assertThatIllegalStateException()
        .isThrownBy(() -> builder.build().close())
        .withMessageContaining("the right " + missing + " " + where + " " + path);
    assertThat(ops.getChildren().forPath(path)).isEmpty();
  }

  @Test
  void whatIsTriedAtFirstLeavesNothing() throws Exception {
    CuratorFramework ops = framework("ops:ops");
    // None of these are needed at the path itself but READ and CREATE.
    ops.create().withACL(rightsOfAll(Perms.READ | Perms.CREATE)).forPath(path);
    LockClient client = closeLater(ZooKeeperLocks.builder(framework("app:secret"))
        .path(path)
        .acl(rightsOfAll(ALL_BUT_ADMIN))
        .build());
    assertThat(ops.getChildren().forPath(path)).isEmpty();
    assertThat(ops.checkExists().forPath(path).getCversion()).isZero();
    client.get("a").tryLock().orElseThrow().close();
  }

  @Test
  void aRightThatIsTakenAwayIsToldAsSuch() throws Exception {
    CuratorFramework ops = framework("ops:ops");
    ops.create().withACL(rightsOfAll(Perms.ALL)).forPath(path);
    LockClient client = closeLater(ZooKeeperLocks.builder(framework("app:secret"))
        .path(path)
        .acl(Ids.OPEN_ACL_UNSAFE)
        .build());
    ops.setACL().withACL(rightsOfAll(Perms.READ)).forPath(path);
    assertThatExceptionOfType(LockStoreException.class)
        .isThrownBy(() -> client.get("a").tryLock())
        .withMessageContaining("NoAuth");
  }

  @Test
  void whatTheUserKeepsInTheNodeOfThePathStaysThere() throws Exception {
    byte[] theirs = "configuration".getBytes(StandardCharsets.UTF_8);
    CuratorFramework framework = framework("ops:ops");
    framework.create().forPath(path, theirs);
    LockClient client = closeLater(ZooKeeperLocks.builder(framework).path(path).build());
    LockOptions held = LockOptions.defaults().withMinHold(Duration.ofSeconds(6));
    client.get("job", held).tryLock().orElseThrow().close();
    assertThat(client.get("job").inspect()).isPresent();
    assertThat(client.list("", 10)).hasSize(1);
    client.get("job").lockWithin(Duration.ofSeconds(30)).close();
    assertThat(framework.getData().forPath(path)).isEqualTo(theirs);
  }
}
