package io.holdfast.lock.consul;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import io.holdfast.lock.testsupport.StandingTime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Test;

/**
 * The requests that each call of the mutex sends, as sent.txt has them. It is there to be read, and
 * so that no change of code changes what locks send without being seen.
 */
class SentTest {
  /** So long that no request counts as silent, after which it would be sent once more. */
  private static final Duration STORE_TIMEOUT = Duration.ofMinutes(1);

  private static final Duration TTL = Duration.ofMinutes(4);
  private static final String HOLDER = "a".repeat(32);
  private static final String WAITER = "b".repeat(32);
  private static final String OTHER = "c".repeat(32);
  private static final LockKey KEY = OpenStore.key("orders");
  private static final LockKey LINE = OpenStore.key("line");

  private final Sent sent = new Sent();

  @Test
  void eachCallSendsWhatTheFileHas() throws Exception {
    sent.name(HOLDER, "<holder>");
    sent.name(WAITER, "<waiter>");
    sent.name(OTHER, "<other>");
    OkHttpClient client = new OkHttpClient.Builder().addInterceptor(sent).build();
    try (ServerContainer server = ConsulServer.start();
        OpenStore others = new OpenStore(ConsulServer.address(server))) {
      StoreSettings settings =
          new StoreSettings("test", STORE_TIMEOUT, new StandingTime(), new NoEvents());
      LockStore store = sent.by(
          "build()",
          () -> ConsulLocks.builder(client, ConsulServer.address(server)).openStore(settings));
      holding(store);
      line(store, others);
      guard(store);
      sent.forgetSessions();
      LockStore brief =
          ConsulLocks.builder(client, ConsulServer.address(server)).openStore(settings);
      brief.release(
          brief.tryAcquire(claim(OpenStore.key("brief"), HOLDER)).orElseThrow(), Duration.ZERO);
      sent.by("close() of a client that holds nothing", () -> {
        brief.close();
        return true;
      });
      sent.check();
    }
  }

  private void holding(LockStore store) throws Exception {
    Grant first = sent.by("The client's first tryLock(), of a new name", () -> take(store, HOLDER));
    sent.by("close() of a lock that nobody waits for", () -> store.release(first, Duration.ZERO));
    Grant grant =
        sent.by("tryLock() of a lock that this client had before", () -> take(store, HOLDER));
    sent.by("tryLock() of a lock that is taken", () -> store.tryAcquire(claim(KEY, OTHER)));
    sent.by("tryLock() of a lock that was seen taken", () -> store.tryAcquire(claim(KEY, OTHER)));
    sent.by(
        "The first renewal, after which the session gets a witness",
        4,
        () -> store.renew(List.of(grant)));
    Grant second = store.tryAcquire(claim(OpenStore.key("stock"), OTHER)).orElseThrow();
    sent.by("Renewal of a lease", () -> store.renew(List.of(grant)));
    sent.by("Renewal of two leases", () -> store.renew(List.of(grant, second)));
    sent.by("extend()", () -> store.extend(grant, TTL.plus(TTL)));
    sent.by("verify()", () -> store.verify(grant));
    sent.by("inspect()", () -> store.inspect(KEY));
    sent.by("list()", () -> store.list(LockKind.MUTEX, "ord", 10));
    sent.by("close() that leaves a minimum hold", () -> store.release(grant, TTL));
    sent.by(
        "tryLock() of a lock that a minimum hold keeps taken",
        () -> store.tryAcquire(claim(KEY, OTHER)));
    // The client hears of it, looks whether it has the lock, and frees the key.
    sent.by(
        "forceRelease() of a lock of this client",
        4,
        () -> store.forceRelease(second.claim().key(), second.number()));
    Grant unanswered =
        store.tryAcquire(claim(OpenStore.key("unanswered"), HOLDER)).orElseThrow();
    sent.by("Release after an acquire without an answer", () -> {
      store.withdraw(unanswered.claim());
      return true;
    });
  }

  private void line(LockStore store, OpenStore others) throws Exception {
    Grant first = others.acquire("line");
    Semaphore woken = new Semaphore(0);
    Ticket waiter = sent.by(
        "lock() of a lock that is taken: joins the line",
        () -> join(store, claim(LINE, WAITER), woken));
    sent.by("A waiter's poll", waiter::poll);
    Ticket third = sent.by(
        "lock() of a lock that is taken, while another waits",
        () -> join(store, claim(LINE, OTHER), new Semaphore(0)));
    sent.by("A waiter leaves the line", () -> {
      third.close();
      return true;
    });
    var unused = others.store.release(first, Duration.ZERO); // And the long poll tells of it.
    Await.until("the waiter is woken", woken::tryAcquire);
    Grant handedOver = sent.by(
        "The poll of a waiter that was woken", () -> ((Ticket.Granted) waiter.poll()).grant());
    others.queue("line");
    sent.by("close() that hands the lock over", () -> store.release(handedOver, Duration.ZERO));
    sent.awaitLongPolls(3);
  }

  private void guard(LockStore store) throws Exception {
    LockOptions fixed = LockOptions.fixed(TTL);
    try (LockClient locks = new TappedBuilder(settings -> store, tapped -> tapped).build();
        Lease lease = locks.get("guarded", fixed).tryLock().orElseThrow()) {
      sent.note("The guard's operation", ConsulGuard.of(lease).operation());
    }
  }

  private static Claim claim(LockKey key, String ownerId) {
    return new Claim(key, Claim.EXCLUSIVE, ownerId, TTL, Duration.ZERO, "of a test");
  }

  private static Grant take(LockStore store, String ownerId) throws Exception {
    return store.tryAcquire(claim(KEY, ownerId)).orElseThrow();
  }

  private static Ticket join(LockStore store, Claim claim, Semaphore woken) throws Exception {
    return ((Acquisition.Queued) store.acquireOrQueue(claim, woken::release)).ticket();
  }

  private static final class NoEvents implements StoreEvents {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  }
}
