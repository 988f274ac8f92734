package io.holdfast.lock.internal.renewal;

import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.RenewalSchedule;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.task.EngineThreads;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.LockStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Keeps a client's grants alive: one thread that marks deadlines that passed, and starts the
 * renewal of each group of grants when about a third of their TTL is over.
 *
 * <p>Renewals are gathered: a grant that is nearly due is renewed along with one of its group that
 * is due, so that leases that were acquired one by one are soon renewed together.
 */
public final class Keeper {
  /*
   * Overview.
   *
   * All leases of a client depend on this thread, so it can't die, block or spin:
   *
   * - It does no I/O, runs no user code, hardly ever logs, and takes no mutex of a wait queue. A loss
   *   that it finds is marked by compare-and-set; its consequences are a task of others.
   * - Whatever a look throws, the next look comes soon, but not at once.
   * - It parks after each look; an interrupt does not make all further parks return at once.
   *
   * A look does the chores, samples the wall clock, and scans all grants if a scan is due or wanted.
   * A thread that needs a scan later lowers `nextScanNanos`. One that needs a scan now sets
   * `scanWanted`; that reads no clock, so it can't fail, and the end of a renewal relies on that.
   * Both then call `wake`, which sets `woken` and unparks the keeper: an unpark alone can be consumed
   * by a contended lock. The scan first raises the time to "never", and then lowers it to the next
   * event that it saw. So an event that comes during a scan is not missed. For each grant that a
   * scan passes by, either the scan noted its next time, or the thread that is busy with it asks for
   * a scan when it is done.
   */

  private static final SafeLogger log = SafeLogger.of(Keeper.class);

  /**
   * The shortest time for which the keeper parks unless it is woken: deadlines that pass one by one
   * must not make it scan all leases each time.
   */
  private static final long LOOK_INTERVAL_NANOS_MIN = 2_000_000;

  /** The pause after a failure for lack of memory or threads. */
  private static final long FAILURE_INTERVAL_NANOS = 100_000_000;

  /**
   * The time between two samples of the wall clock while locks are held or asked for. A clock that
   * is set back and a suspension, in either order, can be told apart if a sample lies between them
   * (see Clocks).
   */
  private static final long SAMPLE_INTERVAL_NANOS = 1_000_000_000;

  /**
   * The time for which an idle renewal thread is kept, so that there is one for the next round even
   * if no thread can be started then.
   */
  private static final long IDLE_SECONDS = 60;

  private final LockStore store;
  private final Clocks time;
  private final Chores chores;
  private final Consumer<ActiveGrant> onRenewed;
  final Thread thread;
  final ThreadPoolExecutor rounds;

  /** The grants, by owner id. */
  final Map<String, ActiveGrant> grants = new ConcurrentHashMap<>();

  final Set<Group> groupsInFlight = ConcurrentHashMap.newKeySet();

  /** The time of the next scan. A scan first sets it far into the future, then lowers it. */
  private final AtomicLong nextScanNanos;

  /** Whether a scan is wanted now. */
  private volatile boolean scanWanted;

  /** Whether a lock was asked for since the last look. */
  private volatile boolean active;

  /**
   * Whether the keeper takes no samples of the wall clock, so that a thread that asks for a lock
   * must wake it.
   */
  private volatile boolean idle = true;

  /** Whether the thread was unparked since its look began. */
  private volatile boolean woken;

  private volatile boolean stopped;

  /** Short work that needs a thread now and then. */
  public interface Chores {
    /**
     * Does what is due, and returns the time at which more is due. Does no I/O and takes no mutex
     * that is held during I/O.
     */
    long run();

    /** Whether a lock is held or asked for. */
    boolean areLocksInUse();

    /** Logs on another thread: an appender can block. */
    void log(Runnable line);
  }

  /** @param onRenewed called for each renewed lease that the store extended */
  public Keeper(
      EngineThreads threads,
      LockStore store,
      Clocks time,
      Chores chores,
      Consumer<ActiveGrant> onRenewed) {
    this.store = store;
    this.time = time;
    this.chores = chores;
    this.onRenewed = onRenewed;
    this.nextScanNanos = new AtomicLong(time.nanos() + Nanos.FOREVER);
    this.thread = threads.only("keeper", this::work);
    this.rounds = new ThreadPoolExecutor(
        0,
        Integer.MAX_VALUE,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        threads.named("renewal"));
  }

  /** Starts the thread. */
  public void start() {
    thread.start();
  }

  /** Starts to keep a grant. */
  public void keep(ActiveGrant grant) {
    grants.put(grant.grant().claim().ownerId(), grant);
    if (grant.state().isOver()) {
      // The grant was over before it was put into the map.
      forget(grant);
      return;
    }
    requestScanAt(
        Nanos.earlier(grant.state().validity().deadlineNanos(), grant.schedule().askAtNanos()));
  }

  /** Has the wall clock sampled from now on for as long as locks are in use. */
  public void watchClock() {
    if (!active) {
      active = true;
    }
    if (idle) {
      idle = false;
      wake();
    }
  }

  /** Stops keeping a grant. Idempotent. */
  public void forget(ActiveGrant grant) {
    grants.remove(grant.grant().claim().ownerId(), grant);
  }

  /** Has all grants scanned soon. Throws nothing. */
  public void requestScan() {
    if (!scanWanted) {
      scanWanted = true;
      wake();
    }
  }

  /** Wakes the keeper for its next look. */
  public void wake() {
    woken = true;
    LockSupport.unpark(thread);
  }

  /** Stops the threads soon, without waiting for renewals under way. */
  public void close() {
    stopped = true;
    wake();
    rounds.shutdown();
  }

  private void requestScanAt(long atNanos) {
    if (atNanos - nextScanNanos.get() >= 0) {
      return;
    }
    long beforeNanos = nextScanNanos.getAndAccumulate(atNanos, Nanos::earlier);
    if (atNanos - beforeNanos < 0 && Thread.currentThread() != thread) {
      wake();
    }
  }

  private void work() {
    while (!stopped) {
      long parkNanos = FAILURE_INTERVAL_NANOS;
      woken = false;
      try {
        parkNanos = look();
      } catch (Throwable e) {
        logFailure(e);
      }
      if (stopped) {
        break;
      }
      if (woken) {
        // The unpark may have been consumed by a contended lock.
        parkNanos = 0;
      }
      try {
        time.park(this, Math.max(LOOK_INTERVAL_NANOS_MIN, parkNanos));
      } catch (Throwable e) {
        // The clock failed; pause all the same.
        LockSupport.parkNanos(this, FAILURE_INTERVAL_NANOS);
      }
      // Nobody has a reason to interrupt this thread, and a set flag would make every park return
      // at once.
      boolean unused = Thread.interrupted();
    }
  }

  /**
   * Logs that a look failed; throws nothing. The JVM makes a text of the program when it is first
   * used, for which there may be no memory: so that is within the try, too.
   */
  private void logFailure(Throwable failure) {
    try {
      log("The keeper of lock leases could not do all that was due, and goes on", failure);
    } catch (Throwable e) {
      // No memory for a line of the log. It must not end the thread: the next look does the work.
      return;
    }
  }

  /** Logs on another thread; throws nothing. */
  private void log(String message, Throwable failure) {
    try {
      chores.log(() -> log.warn(message, failure, null));
    } catch (Throwable e) {
      // No memory for a line of the log: what failed is tried again, and logged if it fails then.
      return;
    }
  }

  /** Does what is due, and returns the time in nanoseconds until more is due. */
  private long look() {
    boolean wasActive = active;
    active = false;
    long choresAtNanos = runChores();
    long nowNanos = time.nanos();
    // Takes the sample of the wall clock.
    ClockReading unused = time.read();
    if (scanWanted || nextScanNanos.get() - nowNanos <= 0) {
      scanAll(nowNanos);
    }
    long nextNanos = Nanos.earlier(choresAtNanos, nextScanNanos.get());
    idle = !wasActive && !chores.areLocksInUse();
    // A thread that asks for a lock sets `active`, and then wakes the keeper only if `idle` is set.
    // If it found `idle` not set yet, its `active` is seen here.
    if (!idle || active) {
      idle = false;
      nextNanos = Nanos.earlier(nextNanos, nowNanos + SAMPLE_INTERVAL_NANOS);
    }
    return nextNanos - time.nanos();
  }

  /** Runs the chores; a failure must not prevent renewals. */
  private long runChores() {
    try {
      return chores.run();
    } catch (Throwable e) {
      log("Chores of a lock client failed, and are done again", e);
      return time.nanos() + FAILURE_INTERVAL_NANOS;
    }
  }

  private void scanAll(long nowNanos) {
    // From here on a new grant must ask for a scan of its own, since this scan may have passed it.
    scanWanted = false;
    nextScanNanos.set(nowNanos + Nanos.FOREVER);
    boolean done = false;
    try {
      List<ActiveGrant> nearlyDue = new ArrayList<>();
      boolean isDue = false;
      for (ActiveGrant grant : grants.values()) {
        if (!grant.stands() && grant.state().isOver()) {
          grant.settleAgain(); // A suspect one is not over: it is asked about below.
          continue;
        }
        requestScanAt(grant.state().validity().deadlineNanos());
        RenewalSchedule schedule = grant.schedule();
        // The end of a request under way asks for a scan.
        if (!schedule.isInFlight() && !schedule.isStopped()) {
          if (schedule.goesAlong(nowNanos)) {
            nearlyDue.add(grant);
            isDue |= schedule.isDue(nowNanos);
          } else {
            requestScanAt(schedule.askAtNanos());
          }
        }
      }
      if (isDue) {
        startRounds(nearlyDue, nowNanos);
      } else {
        scanWhenDue(nearlyDue, nowNanos);
      }
      done = true;
    } finally {
      if (!done) {
        requestScanAt(nowNanos + FAILURE_INTERVAL_NANOS);
      }
    }
  }

  /**
   * The key by which grants are grouped: they are renewed, or verified, together.
   *
   * @param part the renewal group of the store
   * @param extended whether they are extended, or only verified
   */
  record Group(Object part, boolean extended) {}

  private void startRounds(List<ActiveGrant> nearlyDue, long nowNanos) {
    Map<Group, List<ActiveGrant>> groups = new HashMap<>();
    for (ActiveGrant grant : nearlyDue) {
      groups.computeIfAbsent(group(grant), g -> new ArrayList<>()).add(grant);
    }
    groups.forEach((group, members) -> startRound(group, members, nowNanos));
  }

  private void scanWhenDue(List<ActiveGrant> members, long nowNanos) {
    for (ActiveGrant grant : members) {
      if (!grant.schedule().isDue(nowNanos)) {
        requestScanAt(grant.schedule().askAtNanos());
      }
    }
  }

  private Group group(ActiveGrant grant) {
    Object part;
    try {
      part = store.renewalGroup(grant.grant());
    } catch (Throwable e) {
      log(
          "The store has no renewal group for a lease of '%s'"
              .formatted(grant.key().name()),
          e);
      part = grant;
    }
    return new Group(part, grant.schedule().extendsLease());
  }

  /**
   * Starts a group's round unless one is under way. Members that can't take part now, because they
   * are guarded or closed, are left out: the end of a guard asks for a scan.
   */
  private void startRound(Group group, List<ActiveGrant> members, long nowNanos) {
    Round round = new Round(group, members);
    if (!groupsInFlight.add(group)) {
      // The end of the round under way asks for a scan.
      return;
    }
    boolean started = false;
    try {
      if (round.begin(nowNanos)) {
        rounds.execute(round);
        started = true;
      } else {
        scanWhenDue(members, nowNanos);
      }
    } catch (Throwable e) { // No thread or no memory: try again later.
      requestScanAt(time.nanos() + FAILURE_INTERVAL_NANOS);
      log("A renewal of lock leases could not be started; again soon", e);
    } finally {
      if (!started) {
        round.end();
      }
    }
  }

  /** One round of a group. */
  private final class Round implements Runnable {
    private final Group group;
    private final List<ActiveGrant> members;
    private final List<ActiveGrant> flying;

    Round(Group group, List<ActiveGrant> members) {
      this.group = group;
      this.members = members;
      this.flying = new ArrayList<>(members.size());
    }

    /**
     * Begins a request for each member that is due, and, if there is one, for those nearly due.
     * Returns false if no request was begun: each member that is due is guarded or closed.
     */
    boolean begin(long nowNanos) {
      for (ActiveGrant grant : members) {
        if (grant.schedule().isDue(nowNanos)) {
          begin(grant);
        }
      }
      if (flying.isEmpty()) {
        return false;
      }
      for (ActiveGrant grant : members) {
        if (!grant.schedule().isDue(nowNanos) && !grant.schedule().isSuspended()) {
          begin(grant);
        }
      }
      return true;
    }

    private void begin(ActiveGrant grant) {
      if (grant.schedule().beginFlight()) {
        flying.add(grant);
      }
    }

    @Override
    public void run() {
      try {
        new RenewalRound(store, time, flying, onRenewed).run();
      } catch (Throwable e) {
        log.warn("A renewal of lock leases failed; again soon", e, null);
      } finally {
        end();
        requestScan();
      }
    }

    void end() {
      flying.forEach(grant -> grant.schedule().endFlight());
      groupsInFlight.remove(group);
    }
  }
}
