package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Test;

/**
 * The packets that each call of the mutex sends, as sent.txt has them. It is there to be read, and
 * so that no change of code changes what locks send without being seen.
 */
class SentTest extends ServerTest {
  private static final String HOLDER = "a".repeat(32);
  private static final String WAITER = "b".repeat(32);
  private static final String OTHER = "c".repeat(32);
  private static final String NAME = "orders";

  /** Another client, which sends on a connection of its own. */
  private ZooKeeperStore others;

  SentTest() {
    super(ZooKeeperServer.start());
  }

  @Test
  void eachCallSendsWhatTheFileHas() throws Exception {
    Sent sent = closeLater(new Sent(server));
    sent.name(HOLDER, "<holder>");
    sent.name(WAITER, "<waiter>");
    sent.name(OTHER, "<other>");
    StoreSettings settings = new StoreSettings("test", Await.PATIENCE, sent, new Stores.Events());
    ZooKeeperStore store = sent.by(
        "build(), the first time",
        () -> ZooKeeperStore.open(sent.framework(), ZooKeeperLocks.DEFAULT_PATH, null, settings));
    CuratorFramework framework = openFramework();
    others = closeLater(Stores.open(framework));
    // No containers, which the server would remove when they are empty.
    for (String name : List.of(NAME, "line")) {
      framework.create().forPath(Stores.path(name));
    }
    holding(sent, store);
    minimumHold(sent, store);
    line(sent, store);
    guard(sent, store);
    sent.check();
  }

  private static void holding(Sent sent, ZooKeeperStore store) throws Exception {
    Grant second =
        sent.by("tryLock() of a new name", () -> Stores.take(store, claim("stock", OTHER)));
    Grant grant =
        sent.by("tryLock() of a lock that is free", () -> Stores.take(store, claim(NAME, HOLDER)));
    sent.by("tryLock() of a lock that is taken", () -> store.tryAcquire(claim(NAME, OTHER)));
    sent.by("tryLock() of a lock that was seen taken", () -> store.tryAcquire(claim(NAME, OTHER)));
    sent.by("Renewal of a lease", () -> store.renew(List.of(grant)));
    sent.by("Renewal of two leases", () -> store.renew(List.of(grant, second)));
    sent.by("extend()", () -> store.extend(grant, Stores.TTL.multipliedBy(2)));
    sent.by("verify()", () -> store.verify(grant));
    sent.by("inspect()", () -> store.inspect(key(NAME)));
    sent.by("list()", () -> store.list(LockKind.MUTEX, "ord", 10));
    sent.by("close() of a lock that nobody waits for", () -> store.release(grant, Duration.ZERO));
    sent.by("forceRelease()", () -> store.forceRelease(key("stock"), second.number()));
    Grant unanswered = Stores.take(store, claim(NAME, HOLDER));
    sent.by("Release after an acquire without an answer", () -> {
      store.withdraw(unanswered.claim());
      return true;
    });
  }

  private static void minimumHold(Sent sent, ZooKeeperStore store) throws Exception {
    Grant grant = Stores.take(store, claim(NAME, HOLDER));
    sent.by("close() that leaves a minimum hold", () -> store.release(grant, Stores.TTL));
    sent.by(
        "tryLock() of a lock that a minimum hold keeps taken",
        () -> store.tryAcquire(claim(NAME, OTHER)));
    sent.by("inspect() of a lock that a minimum hold keeps taken", () -> store.inspect(key(NAME)));
    sent.by(
        "forceRelease() of a minimum hold", () -> store.forceRelease(key(NAME), grant.number()));
  }

  private void line(Sent sent, ZooKeeperStore store) throws Exception {
    Grant first = Stores.take(others, Stores.claim("line"));
    Semaphore woken = new Semaphore(0);
    Ticket waiter = sent.by(
        "lock() of a lock that is taken: joins the line",
        () -> Stores.queue(store, claim("line", WAITER), woken::release).ticket());
    sent.by("A waiter's poll", waiter::poll);
    Ticket third = sent.by(
        "lock() of a lock that is taken, while another waits",
        () -> Stores.queue(store, claim("line", OTHER), () -> {}).ticket());
    sent.by("The same waiter's poll", third::poll);
    sent.by("A waiter leaves the line", () -> {
      third.close();
      return true;
    });
    sent.by("Another's close() hands the lock over: the listing by the next in line", () -> {
      assertThat(woken.drainPermits()).isZero();
      var unused = others.release(first, Duration.ZERO);
      return woken.tryAcquire(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    });
    Grant handedOver = sent.by(
        "The poll of a waiter that the lock was handed over to",
        () -> ((Ticket.Granted) waiter.poll()).grant());
    Stores.queue(others, Stores.claim("line"), () -> {});
    sent.by("close() that hands the lock over", () -> store.release(handedOver, Duration.ZERO));
  }

  private static void guard(Sent sent, ZooKeeperStore store) throws Exception {
    CuratorFramework framework = sent.framework();
    framework.create().forPath("/written");
    try (LockClient locks = new TappedBuilder(settings -> store, tapped -> tapped).build();
        Lease lease =
            locks.get("guarded", LockOptions.fixed(Stores.TTL)).tryLock().orElseThrow()) {
      ZooKeeperGuard guard = ZooKeeperGuard.of(lease);
      sent.byWaiting(
          "A guarded write",
          () -> guard.commit(framework, framework.transactionOp().delete().forPath("/written")));
    }
  }

  private static Claim claim(String name, String ownerId) {
    return new Claim(key(name), Claim.EXCLUSIVE, ownerId, Stores.TTL, Duration.ZERO, "of a test");
  }

  private static LockKey key(String name) {
    return new LockKey(LockKind.MUTEX, name);
  }
}
