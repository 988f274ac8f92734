package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockException;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.torture.Finding.Rule;
import io.holdfast.lock.torture.Worker.Task;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A run of one plan: starts the workers, breaks what the plan says, and gathers the evidence. */
final class Schedule {
  private static final int NAMES = 3;
  private static final int LEFT_MAX = 100;
  private static final long PAUSE_NANOS = 20_000_000;

  /** The longest time until servers serve, and workers have a client, after their start. */
  private static final Duration START_MAX = Duration.ofSeconds(90);

  /** The longest time for a worker to close its client and end its threads. */
  private static final long END_SECONDS_MAX = 45;

  private final Plan plan;
  private final Servers servers;
  private final Wrong wrong;
  private final Path folder;
  private final String prefix;
  private final List<String> names;
  private final List<Finding> other = new ArrayList<>();
  private long recoveryNanos;

  /**
   * @param run a number that no other schedule on these servers has, for fresh names
   * @param folder the folder for files
   */
  Schedule(Plan plan, Servers servers, Wrong wrong, int run, Path folder) {
    this.plan = plan;
    this.servers = servers;
    this.wrong = wrong;
    this.folder = folder;
    this.prefix = "torture-" + plan.seed() + "-" + run + "-";
    this.names = IntStream.range(0, NAMES).mapToObj(i -> prefix + i).toList();
  }

  /** @throws IllegalStateException the harness failed, so there is no result */
  Outcome run() throws Exception {
    List<Address> addresses = servers.addresses();
    List<List<FaultProxy>> ways = new ArrayList<>();
    for (int worker = 0; worker < Plan.WORKERS; worker++) {
      ways.add(ways());
    }
    // The harness has proxies too, without faults, where an address can move.
    List<FaultProxy> ownWays = plan.store().hasOneAddress() ? ways() : List.of();
    List<Address> own = ownWays.isEmpty() ? addresses : addresses(ownWays);
    try (Access direct = Access.open(plan.store(), addresses, own, 0);
        LockClient client = client(direct);
        RedisWatch watch = RedisWatch.of(plan.store(), addresses);
        Workers workers = new Workers(
            Plan.WORKERS,
            (worker, life, log) -> task(worker, life, log, ways.get(worker)),
            folder)) {
      direct.prepare(names);
      workers.startAll();
      if (!Waiting.eventually(START_MAX, () -> workers.haveNoted(Note.READY_AT))) {
        throw new IllegalStateException("The workers did not start: see " + folder);
      }
      long beganAt = System.nanoTime();
      Breaker breaker = new Breaker(plan, servers, workers, ways, ownWays, names);
      breaker.run(beganAt);
      recover(client, workers);
      end(client, direct, workers);
      Map<Integer, List<Written>> written = new HashMap<>();
      for (int name = 0; name < names.size(); name++) {
        written.put(
            name, direct.written(names.get(name)).stream().map(Written::parse).toList());
      }
      Evidence evidence = new Evidence(
          plan.store(),
          beganAt,
          workers.attempts(),
          written,
          breaker.happened(),
          watch == null ? List.of() : watch.unsettled(),
          servers.jumpsAhead(),
          other);
      return new Outcome(plan, evidence, Judge.judge(evidence), recoveryNanos);
    } finally {
      ways.forEach(way -> way.forEach(FaultProxy::close));
      ownWays.forEach(FaultProxy::close);
    }
  }

  private List<FaultProxy> ways() {
    return servers.entrances().stream()
        .map(address -> FaultProxy.open(address.host(), address.port()))
        .toList();
  }

  private static List<Address> addresses(List<FaultProxy> ways) {
    return ways.stream().map(way -> new Address(way.host(), way.port())).toList();
  }

  private Task task(int worker, int life, Path log, List<FaultProxy> ways) {
    return new Task(
        plan.store(),
        servers.addresses(),
        addresses(ways),
        worker,
        life,
        plan.seed(),
        System.nanoTime(),
        wrong,
        log,
        names);
  }

  /** Adds a violation without a name or a time. */
  private void found(Rule rule, String text) {
    other.add(Finding.violation(rule, -1, 0, text));
  }

  /** Builds a client without faults. */
  private static LockClient client(Access direct) {
    @Nullable LockException last = null;
    for (long end = System.nanoTime() + START_MAX.toNanos(); System.nanoTime() < end; ) {
      try {
        return direct
            .newClient()
            .clientName("torture")
            .storeTimeout(StoreKind.STORE_TIMEOUT)
            .build();
      } catch (LockException e) {
        last = e;
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    throw new IllegalStateException("The servers do not serve", last);
  }

  /** Waits until every worker has had every name after the last fault. */
  private void recover(LockClient client, Workers workers) throws Exception {
    if (!Waiting.eventually(START_MAX, () -> serves(client))) {
      found(Rule.STUCK, "a client without faults can't get a lock");
    }
    // The time that a busy machine takes to start a JVM does not count.
    boolean unused = Waiting.eventually(START_MAX, () -> workers.haveNoted(Note.READY_AT));
    long calmAt = System.nanoTime();
    workers.order(Order.RECOVER);
    Duration max = plan.recoveryMax();
    if (!Waiting.eventually(max, () -> workers.haveNoted(Note.RECOVERED_AT))) {
      for (WorkerProcess worker : workers.living()) {
        if (worker.noted(Note.RECOVERED_AT) == 0) {
          found(
              Rule.STUCK,
              "worker " + worker.task().worker() + " has not had every name within " + max
                  + (worker.isAlive() ? "" : ", it has ended") + "; holders: " + holders(client));
          worker.dumpThreads();
        }
      }
    }
    for (WorkerProcess worker : workers.living()) {
      recoveryNanos = Math.max(recoveryNanos, worker.noted(Note.RECOVERED_AT) - calmAt);
    }
  }

  private boolean serves(LockClient client) {
    try {
      Optional<Lease> lease = client.get(names.get(0) + "-probe").tryLock();
      lease.ifPresent(Lease::close);
      return lease.isPresent();
    } catch (LockException e) {
      return false;
    }
  }

  private List<String> holders(LockClient client) {
    return names.stream()
        .map(name -> {
          try {
            return name + ": " + client.get(name).inspect().map(Schedule::text).orElse("free");
          } catch (LockException e) {
            return name + ": " + e;
          }
        })
        .toList();
  }

  private static String text(LockHolder holder) {
    return holder.description() + " with " + holder.token() + " for " + holder.remaining();
  }

  /** Closes all clients, and looks for leftovers. */
  private void end(LockClient client, Access direct, Workers workers) throws Exception {
    workers.order(Order.END);
    for (WorkerProcess worker : workers.living()) {
      if (!worker.awaitEnd(END_SECONDS_MAX)) {
        worker.dumpThreads();
        found(Rule.LEFT_BEHIND, "worker " + worker.task().worker() + " does not end");
      } else if (worker.noted(Note.CLOSED_AT) == 0 || worker.noted(Note.THREADS_LEFT) != 0) {
        found(
            Rule.LEFT_BEHIND,
            "worker " + worker.task().worker() + ", which was closed at "
                + worker.noted(Note.CLOSED_AT) + ", has "
                + worker.noted(Note.THREADS_LEFT) + " threads; see its output");
      }
    }
    if (!Waiting.eventually(plan.recoveryMax(), () -> left(client, direct).isEmpty())) {
      found(Rule.LEFT_BEHIND, left(client, direct).toString());
    }
  }

  private List<String> left(LockClient client, Access direct) {
    try {
      List<String> left = new ArrayList<>(direct.leftovers(prefix));
      client.list(prefix, LEFT_MAX).forEach(held -> left.add(held.name() + " " + text(held)));
      if (client instanceof SemaphoreClient semaphores) {
        semaphores
            .semaphore(names.get(0), Call.PERMITS)
            .holders()
            .forEach(holder -> left.add(names.get(0) + " " + holder));
      }
      return left;
    } catch (Exception e) {
      return List.of("the store does not tell what is left: " + e);
    }
  }
}
