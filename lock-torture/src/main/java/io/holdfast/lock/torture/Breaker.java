package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.torture.Evidence.Happened;
import io.holdfast.lock.torture.Fault.Kind;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/** Carries out the faults of a plan, each on a thread of its own. */
final class Breaker {
  /** The pause between two steps of a fault that repeats. */
  private static final long REPEAT_NANOS = 300_000_000;

  private final Plan plan;
  private final Servers servers;
  private final Workers workers;

  /** The proxies between each worker and each server. */
  private final List<List<FaultProxy>> ways;

  /** The proxies of the harness, which have no faults. */
  private final List<FaultProxy> ownWays;

  private final List<String> names;

  private final Map<String, ReentrantLock> targets = new ConcurrentHashMap<>();

  /** Held shared by a fault of one server, and exclusively by a fault of all servers. */
  private final ReentrantReadWriteLock allServers = new ReentrantReadWriteLock(true);

  private final List<Happened> happened = Collections.synchronizedList(new ArrayList<>());
  /** The move of a slot; one at a time, under the exclusive lock of all servers. */
  private volatile @Nullable SlotMove moving;

  private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

  Breaker(
      Plan plan,
      Servers servers,
      Workers workers,
      List<List<FaultProxy>> ways,
      List<FaultProxy> ownWays,
      List<String> names) {
    this.plan = plan;
    this.servers = servers;
    this.workers = workers;
    this.ways = ways;
    this.ownWays = ownWays;
    this.names = names;
  }

  /**
   * Runs the schedule; returns when it is over and all faults have ended.
   *
   * @throws IllegalStateException a fault could not be begun or ended
   */
  void run(long beganAt) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (Plan.Step step : plan.steps()) {
      Thread thread = new Thread(() -> run(step, beganAt), step.fault().toString());
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    sleepUntil(beganAt + plan.seconds() * 1_000_000_000L);
    if (!failures.isEmpty()) {
      IllegalStateException failure = new IllegalStateException("A fault failed");
      failures.forEach(failure::addSuppressed);
      throw failure;
    }
  }

  /** Returns the faults so far, with their real times. */
  List<Happened> happened() {
    synchronized (happened) {
      return List.copyOf(happened);
    }
  }

  private void run(Plan.Step step, long beganAt) {
    Fault fault = step.fault();
    sleepUntil(beganAt + step.beginMillis() * 1_000_000L);
    // A server that is slow to stop must not be killed meanwhile.
    Lock target = target(fault);
    target.lock();
    Lock among =
        fault.kind().target() == Fault.Target.SERVER ? allServers.readLock() : new ReentrantLock();
    among.lock();
    try {
      long end = beganAt + step.endMillis() * 1_000_000L;
      long began = System.nanoTime();
      begin(fault, end);
      while (System.nanoTime() - end < 0) {
        repeat(fault);
        sleepUntil(Math.min(end, System.nanoTime() + REPEAT_NANOS));
      }
      end(fault);
      happened.add(new Happened(fault, began, System.nanoTime()));
    } catch (InterruptedException e) {
      failures.add(e); // Nobody interrupts us.
    } catch (Exception e) {
      failures.add(new IllegalStateException(step.toString(), e));
    } finally {
      among.unlock();
      target.unlock();
    }
  }

  private Lock target(Fault fault) {
    return fault.kind().target() == Fault.Target.SERVERS
        ? allServers.writeLock()
        : targets.computeIfAbsent(fault.target(), any -> new ReentrantLock());
  }

  private void begin(Fault fault, long end) throws Exception {
    int index = fault.index();
    switch (fault.kind()) {
      case KILL_WORKER -> workers.last(index).kill();
      case FREEZE_WORKER, SUSPEND_WORKER -> workers.last(index).freeze();
      case SET_CLOCK -> workers.last(index).setClock(fault.amount());
      case FILL_HEAP -> workers.last(index).fillHeap();
      case REFUSE -> ways.get(index).forEach(FaultProxy::refuse);
      case SILENCE -> ways.get(index).forEach(FaultProxy::blackhole);
      case DELAY ->
        ways.get(index)
            .forEach(way -> way.delay(fault.direction(), Duration.ofMillis(fault.amount())));
      case DELIVER_LATE -> ways.get(index).forEach(way -> way.hold(fault.direction()));
      case LOSE -> ways.get(index).forEach(way -> way.lose(fault.direction()));
      case OUTAGE -> ways.forEach(way -> way.forEach(FaultProxy::blackhole));
      case KILL_SERVER -> servers.kill(index);
      case PAUSE_SERVER -> servers.pause(index);
      case STOP_SERVER -> servers.stop(index);
      case SET_SERVER_CLOCK -> servers.setClock(index, fault.amount());
      case ROLLING_RESTART -> restartAll(end);
      case SWITCH_OVER, SWITCH_OVER_READ_ONLY -> {
        servers.pair().switchOver(fault.kind() == Kind.SWITCH_OVER_READ_ONLY);
        moveTo(servers.entrances().get(0));
      }
      case MOVE_SLOT ->
        moving = SlotMove.begin(servers.addresses(), RedisAccess.key(names.get(index)));
      case CUTS, SHUT, LOSE_REQUESTS, LOSE_REPLIES, EXHAUST_THREADS -> {} // They are repeated.
    }
  }

  /** Restarts one server after the other, each in an equal share of the time. */
  private void restartAll(long end) {
    int count = servers.addresses().size();
    for (int server = 0; server < count; server++) {
      long share = (end - System.nanoTime()) / (count - server);
      long next = System.nanoTime() + Math.max(0, share);
      servers.stop(server);
      servers.startAgain(server);
      sleepUntil(next);
    }
  }

  /** Sends new connections there; open ones stay as they are. */
  private void moveTo(Address address) {
    ways.forEach(way -> way.get(0).moveTo(address.host(), address.port()));
    ownWays.get(0).moveTo(address.host(), address.port());
  }

  private void repeat(Fault fault) throws IOException, InterruptedException {
    int index = fault.index();
    switch (fault.kind()) {
      case CUTS -> ways.get(index).forEach(FaultProxy::cut);
      case SHUT -> ways.get(index).forEach(way -> way.shut(fault.direction()));
      case LOSE_REPLIES -> ways.get(index).forEach(way -> way.dropReply(fault.amount()));
      case LOSE_REQUESTS -> ways.get(index).forEach(way -> way.dropRequest(fault.amount()));
      case EXHAUST_THREADS -> workers.last(index).exhaustThreads();
      case MOVE_SLOT -> {
        boolean unused = Objects.requireNonNull(moving).moveKeys(2);
      }
      default -> {} // It lasts.
    }
  }

  private void end(Fault fault) throws Exception {
    int index = fault.index();
    switch (fault.kind()) {
      case KILL_WORKER -> workers.start(index);
      case FREEZE_WORKER -> workers.last(index).thaw();
      case SUSPEND_WORKER -> workers.last(index).resume();
      case SET_CLOCK -> workers.last(index).setClock(0);
      case FILL_HEAP, EXHAUST_THREADS -> workers.feed(index);
      case REFUSE, CUTS, SILENCE, DELAY, DELIVER_LATE, LOSE, SHUT, LOSE_REQUESTS, LOSE_REPLIES ->
        ways.get(index).forEach(FaultProxy::heal);
      case OUTAGE -> ways.forEach(way -> way.forEach(FaultProxy::heal));
      case KILL_SERVER, STOP_SERVER -> servers.startAgain(index);
      case PAUSE_SERVER -> servers.resume(index);
      case SET_SERVER_CLOCK -> servers.setClock(index, 0);
      case ROLLING_RESTART -> {} // All have been started again.
      case SWITCH_OVER, SWITCH_OVER_READ_ONLY -> servers.pair().rejoin();
      case MOVE_SLOT -> Objects.requireNonNull(moving).end();
    }
  }

  private static void sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
