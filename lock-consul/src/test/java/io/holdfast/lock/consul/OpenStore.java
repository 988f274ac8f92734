package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.store.ConsulStore;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;

/** A store without an engine, whose requests a script bends. */
final class OpenStore implements AutoCloseable, StoreEvents {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(20);
  private static final Duration TTL = Duration.ofSeconds(60);

  final Script script = new Script();
  final Requests requests = new Requests();
  final List<LeaseLoss.Reason> losses = new CopyOnWriteArrayList<>();
  final AtomicInteger suspensions = new AtomicInteger();
  final AtomicInteger wakeUps = new AtomicInteger();
  final ConsulStore store;

  OpenStore(String address) {
    this(address, TimeSource.system());
  }

  OpenStore(String address, TimeSource time) {
    OkHttpClient client = new OkHttpClient.Builder()
        .addInterceptor(requests)
        .addInterceptor(script)
        .build();
    StoreSettings settings = new StoreSettings("open", STORE_TIMEOUT, time, this);
    ConsulHttp.Settings http =
        new ConsulHttp.Settings(client, HttpUrl.get(address), null, ConsulException::new);
    store = new ConsulStore(new ConsulHttp(http, settings), "holdfast", settings);
  }

  static LockKey key(String name) {
    return new LockKey(LockKind.MUTEX, name);
  }

  static Claim claim(String name) {
    return claim(name, TTL);
  }

  static Claim claim(String name, Duration ttl) {
    String ownerId = UUID.randomUUID().toString().replace("-", "");
    return new Claim(key(name), Claim.EXCLUSIVE, ownerId, ttl, Duration.ZERO, "a test");
  }

  /** Makes the claim of a reader. */
  static Claim readClaim(String name, Duration ttl) {
    Claim claim = claim(name, ttl);
    return new Claim(
        claim.key(), Claim.SHARED, claim.ownerId(), ttl, Duration.ZERO, claim.holder());
  }

  static Claim readClaim(String name) {
    return readClaim(name, TTL);
  }

  ConsulGrant acquire(String name) throws StoreException {
    return acquire(claim(name));
  }

  ConsulGrant acquire(Claim claim) throws StoreException {
    Grant grant =
        store.tryAcquire(claim).orElseThrow(() -> new AssertionError(claim.key() + " is taken"));
    return (ConsulGrant) grant;
  }

  Ticket queue(String name) throws StoreException {
    return queue(claim(name));
  }

  Ticket queue(Claim claim) throws StoreException {
    Acquisition acquisition = store.acquireOrQueue(claim, wakeUps::incrementAndGet);
    if (acquisition instanceof Acquisition.Queued queued) {
      return queued.ticket();
    }
    throw new AssertionError("Not queued but " + acquisition);
  }

  /**
   * Waits until the client has acted on the answer to its session's long poll, and begun the next.
   */
  void awaitNewWatchAfter(long watches) {
    Await.until("the session's key is watched anew", () -> watches() > watches);
  }

  /** Whether a request renews or watches the client's session, as happens in the background. */
  static boolean isOfTheSession(String path) {
    return path.startsWith("/v1/session/renew/") || path.startsWith("/v1/kv/holdfast/session/");
  }

  long watches() {
    return requests.count("/v1/kv/holdfast/session/");
  }

  @Override
  public void suspended(Grant grant) {
    suspensions.incrementAndGet();
  }

  @Override
  public void lost(Grant grant, LeaseLoss.Reason reason) {
    losses.add(reason);
  }

  @Override
  public void close() {
    store.close();
  }
}
