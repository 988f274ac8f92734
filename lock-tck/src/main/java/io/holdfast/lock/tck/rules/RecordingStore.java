package io.holdfast.lock.tck.rules;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A store that passes calls on, counts renewals, and loses what a test wants to be lost. Asked
 * about permits only if the real store has them.
 */
final class RecordingStore implements LockStore {
  private final LockStore store;

  /** The owner ids of grants that were released. */
  private final Set<String> released = ConcurrentHashMap.newKeySet();

  /** The owner ids of grants that the engine has begun to renew, and not asked this store for. */
  private final Set<String> begun = ConcurrentHashMap.newKeySet();

  private final Set<Object> groups = ConcurrentHashMap.newKeySet();
  private final Set<String> renewedAfterRelease = new ConcurrentSkipListSet<>();
  private final AtomicLong renewals = new AtomicLong();
  private final AtomicLong renewalCalls = new AtomicLong();
  private final AtomicReference<@Nullable Runnable> beforeAnswer = new AtomicReference<>();
  private volatile boolean withdrawalsFail;

  RecordingStore(LockStore store) {
    this.store = store;
  }

  /**
   * Runs this once, after the next acquire was carried out and before its caller gets the answer;
   * if it throws, the answer is lost.
   */
  void beforeTheNextAnswer(Runnable body) {
    beforeAnswer.set(body);
  }

  /** Has withdrawals fail from now on, or no longer. */
  void failWithdrawals(boolean fail) {
    withdrawalsFail = fail;
  }

  /** Returns the number of groups of renewals. */
  long groups() {
    return groups.size();
  }

  /** Returns the number of renewals of single grants. */
  long renewals() {
    return renewals.get();
  }

  /** Returns the number of calls for those renewals. */
  long renewalCalls() {
    return renewalCalls.get();
  }

  /** Returns the names of locks whose renewal began after their release was over. */
  List<String> renewedAfterRelease() {
    return new ArrayList<>(renewedAfterRelease);
  }

  @Override
  public void checkOptions(LockOptions options) {
    store.checkOptions(options);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Optional<Grant> grant = store.tryAcquire(claim);
    answerAcquire();
    return grant;
  }

  private void answerAcquire() {
    Runnable body = beforeAnswer.getAndSet(null);
    if (body != null) {
      body.run();
    }
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Acquisition acquisition = store.acquireOrQueue(claim, wakeUp);
    answerAcquire();
    return acquisition;
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    ReleaseOutcome outcome = store.release(grant, holdFor);
    released.add(grant.claim().ownerId());
    return outcome;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    if (withdrawalsFail) {
      throw StoreException.refused("Withdrawals fail", null);
    }
    store.withdraw(claim);
  }

  /**
   * Also records that a renewal has begun: the engine calls this just before it has the grant
   * renewed on another thread.
   */
  @Override
  public Object renewalGroup(Grant grant) {
    begun.add(grant.claim().ownerId());
    Object group = store.renewalGroup(grant);
    groups.add(group);
    return group;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    renewalCalls.incrementAndGet();
    renewals.addAndGet(grants.size());
    for (Grant grant : grants) {
      String ownerId = grant.claim().ownerId();
      if (!begun.remove(ownerId) && released.contains(ownerId)) {
        renewedAfterRelease.add(grant.claim().key().name());
      }
    }
    return store.renew(grants);
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return store.extend(grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return store.verify(grant);
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return store.verifyAll(grants);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return store.inspect(key);
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return store.list(kind, namePrefix, limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return store.forceRelease(key, number);
  }

  @Override
  public void close() {
    store.close();
  }
}
