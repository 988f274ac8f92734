package io.holdfast.lock.internal;

import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.TimeSource;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a client's leases: one thread that does no I/O itself. It marks deadlines that passed,
 * sends each group of leases off to be renewed when a third of their TTL is over, finds handles
 * that were dropped, and starts what was put off until later.
 *
 * <p>Renewals are gathered: whoever is due within a sixth of its TTL goes along, so that leases
 * that were acquired one by one are soon renewed together.
 */
final class Keeper implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Keeper.class);

  /** Many leases that end one by one must not make the keeper scan all of them each time. */
  private static final long SCAN_INTERVAL_NANOS_MIN = 2_000_000;

  private static final long FAILURE_INTERVAL_NANOS = 100_000_000;

  private final LockStore store;
  private final TimeSource time;
  private final Background background;
  private final Consumer<Handle> onDropped;
  private final Thread thread;

  /** By attempt id. */
  private final Map<String, Tenure> tenures = new ConcurrentHashMap<>();

  private final Set<Group> groupsInFlight = ConcurrentHashMap.newKeySet();
  private final ReferenceQueue<LeaseHandle> dropped = new ReferenceQueue<>();

  private final ReentrantLock errandsMutex = new ReentrantLock();

  /** Guarded by its mutex. */
  private final PriorityQueue<Errand> errands =
      new PriorityQueue<>((a, b) -> Long.signum(a.atNanos() - b.atNanos()));

  private volatile boolean stopped;

  /** When the keeper looks next if nobody wakes it; far ahead while it looks. */
  private volatile long nextLookNanos;

  /**
   * A look that a tenure asked for. Kept though the tenure may be over by now: others like it will
   * follow, and need not wake the keeper each.
   */
  private volatile long wantedLookNanos;

  Keeper(
      String clientName,
      LockStore store,
      TimeSource time,
      Background background,
      Consumer<Handle> onDropped) {
    this.store = store;
    this.time = time;
    this.background = background;
    this.onDropped = onDropped;
    this.nextLookNanos = time.nanos() + Nanos.FOREVER;
    this.wantedLookNanos = time.nanos();
    this.thread = new Thread(this::work, "holdfast-keeper-" + clientName);
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** Begins to keep a tenure. */
  void keep(Tenure tenure) {
    tenures.put(tenure.grant().claim().ownerId(), tenure);
    if (tenure.standing().isOver()) {
      // It was forgotten before it was kept.
      forget(tenure);
      return;
    }
    long nextEventNanos =
        earlier(tenure.standing().term().deadlineNanos(), tenure.renewal().askAtNanos());
    if (nextEventNanos - nextLookNanos < 0) {
      wantedLookNanos = nextEventNanos;
      wake();
    }
  }

  void forget(Tenure tenure) {
    tenures.remove(tenure.grant().claim().ownerId());
  }

  List<Tenure> kept() {
    return List.copyOf(tenures.values());
  }

  /** How many groups are being renewed. */
  int renewing() {
    return groupsInFlight.size();
  }

  Thread thread() {
    return thread;
  }

  /** Has a handle watched: if it becomes unreachable before it is closed, the keeper tells. */
  void watch(LeaseHandle leaseHandle, Handle handle) {
    handle.leakReference = new LeakReference(leaseHandle, handle, dropped);
  }

  /** Runs a task on a clean-up thread at that time. */
  void runAt(long atNanos, Runnable task) {
    errandsMutex.lock();
    try {
      errands.add(new Errand(atNanos, task));
    } finally {
      errandsMutex.unlock();
    }
    wake();
  }

  void wake() {
    LockSupport.unpark(thread);
  }

  /** Stops the thread soon. */
  @Override
  public void close() {
    stopped = true;
    wake();
  }

  private void work() {
    while (!stopped) {
      try {
        look();
      } catch (RuntimeException | Error e) {
        // Nothing in a look is expected to throw, but a keeper that died would lose every lease.
        log.error("The keeper of lock leases failed, and goes on", e);
        nextLookNanos = time.nanos() + FAILURE_INTERVAL_NANOS;
      }
      time.park(this, Math.max(SCAN_INTERVAL_NANOS_MIN, nextLookNanos - time.nanos()));
    }
  }

  private void look() {
    // From here on a new tenure wakes us, since the scan may have passed it.
    nextLookNanos = time.nanos() + Nanos.FOREVER;
    for (var reference = dropped.poll(); reference != null; reference = dropped.poll()) {
      onDropped.accept(((LeakReference) reference).handle());
    }
    long next = startErrands();
    long nowNanos = time.nanos();
    long firstAskAtNanos = nowNanos + Nanos.FOREVER;
    List<Tenure> renewable = new ArrayList<>();
    // One pass, since there may be very many.
    for (Tenure tenure : tenures.values()) {
      tenure.stands();
      next = earlier(next, tenure.standing().term().deadlineNanos());
      RenewalPlan renewal = tenure.renewal();
      if (renewal.isInFlight()) {
        // Its end wakes us.
        continue;
      }
      long askAtNanos = renewal.askAtNanos();
      if (renewal.goesAlong(nowNanos)) {
        firstAskAtNanos = earlier(firstAskAtNanos, askAtNanos);
        renewable.add(tenure);
      } else {
        next = earlier(next, askAtNanos);
      }
    }
    if (firstAskAtNanos - nowNanos <= 0) {
      // Those that do not start wait for the end of a flight or of a guard, which wakes us.
      startRenewals(renewable);
    } else {
      next = earlier(next, firstAskAtNanos);
    }
    long wanted = wantedLookNanos;
    nextLookNanos = wanted - nowNanos > 0 ? earlier(next, wanted) : next;
  }

  private long startErrands() {
    errandsMutex.lock();
    try {
      long nowNanos = time.nanos();
      while (!errands.isEmpty() && errands.peek().atNanos() - nowNanos <= 0) {
        background.cleanUp(errands.remove().task());
      }
      return errands.isEmpty() ? nowNanos + Nanos.FOREVER : errands.peek().atNanos();
    } finally {
      errandsMutex.unlock();
    }
  }

  private void startRenewals(List<Tenure> renewable) {
    Map<Group, List<Tenure>> groups = new HashMap<>();
    for (Tenure tenure : renewable) {
      groups.computeIfAbsent(group(tenure), g -> new ArrayList<>()).add(tenure);
    }
    groups.forEach(this::startRenewal);
  }

  private void startRenewal(Group group, List<Tenure> due) {
    if (!groupsInFlight.add(group)) {
      return;
    }
    List<Tenure> members =
        due.stream().filter(tenure -> tenure.renewal().beginFlight()).toList();
    if (members.isEmpty()) {
      // Guarded or closed: the end of the guard wakes us, and a deadline is looked for anyway.
      groupsInFlight.remove(group);
      return;
    }
    boolean started = false;
    try {
      background.renew(() -> renew(group, members));
      started = true;
    } finally {
      if (!started) {
        endRenewal(group, members);
      }
    }
  }

  /**
   * What is asked about in one call, or one after the other.
   *
   * @param stores what the store says
   * @param extended whether its leases are extended, or only verified
   */
  private record Group(Object stores, boolean extended) {}

  private Group group(Tenure tenure) {
    Object stores;
    try {
      stores = store.renewalGroup(tenure.grant());
    } catch (RuntimeException e) {
      log.warn(
          "The store has no renewal group for a lease of '{}'",
          tenure.line().key().name(),
          e);
      stores = tenure;
    }
    return new Group(stores, tenure.renewal().extendsLease());
  }

  private void renew(Group group, List<Tenure> members) {
    try {
      new RenewalRound(store, time, members).run();
    } finally {
      endRenewal(group, members);
      wake();
    }
  }

  private void endRenewal(Group group, List<Tenure> members) {
    members.forEach(tenure -> tenure.renewal().endFlight());
    groupsInFlight.remove(group);
  }

  private static long earlier(long aNanos, long bNanos) {
    return aNanos - bNanos < 0 ? aNanos : bNanos;
  }

  private record Errand(long atNanos, Runnable task) {}
}
