package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.torture.Evidence.Happened;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Does what a plan says, each fault on a thread of its own. */
final class Breaker {
  /** What is done again and again during a fault is done so often. */
  private static final long REPEAT_NANOS = 300_000_000;

  private final Plan plan;
  private final Servers servers;
  private final Workers workers;

  /** For each worker a way to each server. */
  private final List<List<FaultProxy>> ways;

  private final Map<String, ReentrantLock> targets = new ConcurrentHashMap<>();
  private final List<Happened> happened = Collections.synchronizedList(new ArrayList<>());
  private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

  Breaker(Plan plan, Servers servers, Workers workers, List<List<FaultProxy>> ways) {
    this.plan = plan;
    this.servers = servers;
    this.workers = workers;
    this.ways = ways;
  }

  /**
   * Returns when the schedule is over, and nothing is broken any more.
   *
   * @throws IllegalStateException something could not be broken or repaired
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

  /** What was broken, with the times at which it really was. */
  List<Happened> happened() {
    synchronized (happened) {
      return List.copyOf(happened);
    }
  }

  private void run(Plan.Step step, long beganAt) {
    Fault fault = step.fault();
    sleepUntil(beganAt + step.beginMillis() * 1_000_000L);
    // A server that takes its time to stop is not to be killed meanwhile.
    ReentrantLock target = targets.computeIfAbsent(fault.target(), any -> new ReentrantLock());
    target.lock();
    try {
      long end = beganAt + step.endMillis() * 1_000_000L;
      long began = System.nanoTime();
      begin(fault);
      while (System.nanoTime() - end < 0) {
        repeat(fault);
        sleepUntil(Math.min(end, System.nanoTime() + REPEAT_NANOS));
      }
      end(fault);
      happened.add(new Happened(fault, began, System.nanoTime()));
    } catch (IOException | RuntimeException e) {
      failures.add(new IllegalStateException(step.toString(), e));
    } catch (InterruptedException e) {
      failures.add(e); // Nobody interrupts us.
    } finally {
      target.unlock();
    }
  }

  private void begin(Fault fault) throws IOException, InterruptedException {
    if (fault instanceof Fault.KillWorker f) {
      workers.kill(f.worker());
    } else if (fault instanceof Fault.FreezeWorker f) {
      workers.freeze(f.worker());
    } else if (fault instanceof Fault.SuspendWorker f) {
      workers.freeze(f.worker());
    } else if (fault instanceof Fault.SetClock f) {
      workers.setClock(f.worker(), f.millis());
    } else if (fault instanceof Fault.OfServer f) {
      begin(f);
    } else if (fault instanceof Fault.Outage) {
      ways.forEach(way -> way.forEach(FaultProxy::blackhole));
    } else if (fault instanceof Fault.OfWay f) {
      ways.get(f.worker()).forEach(way -> begin(f, way));
    }
  }

  private void begin(Fault.OfServer fault) {
    int server = fault.server();
    if (fault instanceof Fault.KillServer) {
      servers.kill(server);
    } else if (fault instanceof Fault.PauseServer) {
      servers.pause(server);
    } else {
      servers.stop(server);
    }
  }

  private static void begin(Fault.OfWay fault, FaultProxy way) {
    if (fault instanceof Fault.Refuse) {
      way.refuse();
    } else if (fault instanceof Fault.Silence) {
      way.blackhole();
    } else if (fault instanceof Fault.Delay f) {
      way.delay(f.direction(), Duration.ofMillis(f.millis()));
    } else if (fault instanceof Fault.DeliverLate f) {
      way.hold(f.direction());
    } else if (fault instanceof Fault.Lose f) {
      way.hold(f.direction());
    }
  }

  private void repeat(Fault fault) {
    if (fault instanceof Fault.Cuts f) {
      ways.get(f.worker()).forEach(FaultProxy::cut);
    } else if (fault instanceof Fault.LoseReplies f) {
      ways.get(f.worker()).forEach(way -> way.dropReply(f.nth()));
    }
  }

  private void end(Fault fault) throws IOException, InterruptedException {
    if (fault instanceof Fault.KillWorker f) {
      workers.start(f.worker());
    } else if (fault instanceof Fault.FreezeWorker f) {
      workers.thaw(f.worker());
    } else if (fault instanceof Fault.SuspendWorker f) {
      workers.resume(f.worker());
    } else if (fault instanceof Fault.SetClock f) {
      workers.setClock(f.worker(), 0);
    } else if (fault instanceof Fault.PauseServer f) {
      servers.resume(f.server());
    } else if (fault instanceof Fault.OfServer f) {
      servers.startAgain(f.server());
    } else if (fault instanceof Fault.Outage) {
      ways.forEach(way -> way.forEach(FaultProxy::heal));
    } else if (fault instanceof Fault.OfWay f) {
      ways.get(f.worker()).forEach(way -> end(f, way));
    }
  }

  private static void end(Fault.OfWay fault, FaultProxy way) {
    if (fault instanceof Fault.Lose) {
      way.cut(); // What was held back is dropped with its connection.
    }
    way.heal();
  }

  private static void sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
