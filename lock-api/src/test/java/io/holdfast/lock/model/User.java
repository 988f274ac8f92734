package io.holdfast.lock.model;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.internal.ModelEngine;
import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** A thread that takes locks in all the ways that there are, and holds them for a while. */
final class User {
  private final World world;
  private final Judge judge;
  private final Setting setting;
  private final Machine machine;
  private final ReadWriteClient client;
  private final int index;
  private final Dice dice = new Dice();
  private final Thread thread;

  private boolean ended;
  private boolean stops;
  private boolean clientCloses;
  private int interrupts;

  User(
      World world,
      Judge judge,
      Setting setting,
      Machine machine,
      ReadWriteClient client,
      int index,
      long seed) {
    this.world = world;
    this.judge = judge;
    this.setting = setting;
    this.machine = machine;
    this.client = client;
    this.index = index;
    this.thread = machine.thread(this::run, "user " + index);
    Dice unused = dice.of(seed);
  }

  void start() {
    thread.start();
  }

  Machine machine() {
    return machine;
  }

  boolean isEnded() {
    return ended;
  }

  /** It is to end soon. */
  void stop() {
    stops = true;
  }

  void clientCloses() {
    clientCloses = true;
  }

  void interrupt() {
    if (!ended) {
      Seen.INTERRUPTED.count();
      interrupts++;
      thread.interrupt();
    }
  }

  @Override
  public String toString() {
    return machine + "." + index;
  }

  private void run() {
    try {
      while (!stops) {
        turn();
        sleep(dice.oneIn(2) ? dice.upTo(20_000_000) : dice.upTo(setting.ttlNanosMax()));
      }
    } catch (LockClientClosedException e) {
      Seen.CLIENT_CLOSED.count();
      if (!clientCloses) {
        throw new Broken(Rule.DOCUMENTED, this + ": " + e, e);
      }
    } finally {
      ended = true;
    }
  }

  private void turn() {
    String name = setting.name(dice.below(setting.names()));
    boolean shared = setting.reads() && dice.below(3) > 0;
    LockOptions options = setting.options(dice);
    if (shared) {
      options = options.withMinHold(Duration.ZERO);
    }
    Judge.Asking asking = judge.asks(machine, name, shared);
    try {
      take(new Wanted(name, shared, options), asking);
    } catch (InterruptedException e) {
      if (interrupts == 0) {
        throw new Broken(Rule.DOCUMENTED, this + ": " + e, e);
      }
    } catch (LockStoreException e) {
      judge.failed(this, e);
    } finally {
      asking.end();
    }
  }

  /** A lock or a read lock that a user wants. */
  private record Wanted(String name, boolean shared, LockOptions options) {
    Acquirable<? extends AnyLease> of(ReadWriteClient client) {
      return shared ? client.readWrite(name, options).read() : client.get(name, options);
    }

    Lock asLock(ReadWriteClient client) {
      return shared
          ? client.readWrite(name, options).read().asLock()
          : client.get(name, options).asLock();
    }
  }

  private void take(Wanted wanted, Judge.Asking asking) throws InterruptedException {
    String name = wanted.name();
    Acquirable<? extends AnyLease> lock = wanted.of(client);
    long waitNanos =
        dice.oneIn(2) ? dice.upTo(setting.timeoutNanos()) : dice.upTo(2 * setting.ttlNanosMax());
    Duration wait = Duration.ofNanos(waitNanos);
    Clock clock = new Clock();
    switch (dice.below(7)) {
      case 0, 1 -> {
        Optional<? extends AnyLease> lease = lock.tryLock();
        clock.took("tryLock of " + name, 0, lease.isPresent() ? null : 0L);
        took(wanted, lease, asking);
      }
      case 2, 3 -> {
        Optional<? extends AnyLease> lease = lock.tryLock(wait);
        clock.took(
            "tryLock of " + name + " in " + wait, waitNanos, lease.isPresent() ? null : waitNanos);
        took(wanted, lease, asking);
      }
      case 4 -> {
        try {
          took(wanted, Optional.of(lock.lockWithin(wait)), asking);
        } catch (LockTimeoutException e) {
          clock.took("lockWithin of " + name, waitNanos, waitNanos);
          judge.busy(this, wanted.name(), wanted.shared(), asking);
        }
      }
      case 5 -> took(wanted, Optional.of(lock.lock()), asking);
      default -> byThread(wanted, wait, asking);
    }
  }

  /** The time that a call takes, unless its machine was kept from its work. */
  private final class Clock {
    private final long fromNanos = machine.nanosNow();
    private final int stops = machine.stops();

    /** @param leastNanos the least time where the answer was "busy" */
    void took(String what, long waitNanos, @Nullable Long leastNanos) {
      if (machine.stops() == stops) {
        judge.took(
            () -> User.this + "'s " + what,
            machine.nanosNow() - fromNanos,
            leastNanos == null ? 0 : leastNanos,
            waitNanos + setting.callNanosMax());
      }
    }
  }

  private void took(Wanted wanted, Optional<? extends AnyLease> taken, Judge.Asking asking) {
    if (taken.isEmpty()) {
      judge.busy(this, wanted.name(), wanted.shared(), asking);
      return;
    }
    asking.end();
    AnyLease lease = taken.get();
    ModelEngine.Held held = ModelEngine.held(lease);
    Section section = section(wanted, held);
    section.lease = lease;
    judge.begins(section);
    boolean lost = false;
    try {
      if (dice.oneIn(2)) {
        lease.onLost(loss -> judge.lossTold(section));
        section.isLossListened = true;
      }
      if (dice.oneIn(16)) {
        AnyLease unused = lease.detach();
        section.isDetached = true;
      }
      lost = holds(lease, section, wanted, 0);
    } catch (LockLostException e) {
      lost = true;
    } finally {
      judge.ends(section);
      close(section, lease::close);
    }
    if (lost && section.lostBy == null) {
      throw new Broken(Rule.DOCUMENTED, section + " was told lost, and closed without a loss");
    }
  }

  private Section section(Wanted wanted, ModelEngine.Held held) {
    LockOptions options = wanted.options();
    return new Section(
        this,
        wanted.name(),
        held,
        isKept(options),
        wanted.shared(),
        minHoldUntilNanos(options, held));
  }

  /** Whether a lease is kept for as long as it is wanted. */
  private static boolean isKept(LockOptions options) {
    return options.isRenewed() && options.maxHold().isEmpty();
  }

  /** Counted from the grant, where no stop came in between; less a little for other clocks. */
  private long minHoldUntilNanos(LockOptions options, ModelEngine.Held held) {
    if (!machine.isJustAnswered()) {
      return 0;
    }
    long sinceNanos = machine.nanosNow() - held.grantedAtNanos();
    return world.nanos() - sinceNanos + options.minHold().toNanos() * 99 / 100;
  }

  private void close(Section section, Runnable close) {
    Clock clock = new Clock();
    try {
      close.run();
      clock.took("close of " + section, 0, null);
      judge.closedWell(section);
    } catch (LockLostException e) {
      clock.took("close of lost " + section, 0, null);
      judge.lost(section);
    }
  }

  /** Whether it saw its lease lost. */
  private boolean holds(AnyLease lease, Section section, Wanted wanted, int depth) {
    boolean heedless = dice.oneIn(8);
    for (int i = dice.below(6); i > 0 && !stops; i--) {
      switch (dice.below(12)) {
        case 0 -> {
          long atNanos = world.nanos();
          boolean before = section.seemsToStand();
          boolean held = lease.isHeld();
          if (world.nanos() == atNanos) {
            judge.looked(section, before, held);
          }
          if (!held && !heedless) {
            return false;
          }
        }
        case 1 -> {
          try {
            lease.ensureHeld();
          } catch (LockStoreException e) {
            judge.failed(this, e);
          }
        }
        case 2 -> {
          try {
            lease.verify();
          } catch (LockStoreException e) {
            judge.failed(this, e);
          }
        }
        case 3 -> {
          if (!wanted.options().isRenewed()) {
            try {
              lease.extend(Duration.ofNanos(
                  setting.timeoutNanos() + 2_000_000 + dice.partOf(setting.ttlNanosMax() / 2)));
            } catch (LockStoreException e) {
              judge.failed(this, e);
            }
          }
        }
        case 4 -> {
          if (depth == 0) {
            nested(lease, section, wanted);
          }
        }
        case 5, 6, 7 -> sleep(dice.upTo(5_000_000));
        case 8, 9 -> sleep(dice.upTo(setting.ttlNanosMax() / 2));
        default -> sleep(dice.upTo(setting.ttlNanosMax() * 3 / 2));
      }
    }
    return false;
  }

  private void nested(AnyLease outer, Section section, Wanted wanted) {
    boolean shared = wanted.shared() || (setting.reads() && dice.oneIn(2));
    LockOptions options = shared ? wanted.options().withMinHold(Duration.ZERO) : wanted.options();
    Wanted again = new Wanted(wanted.name(), shared, options);
    try {
      Optional<? extends AnyLease> inner = askAgain(again);
      if (inner.isEmpty() && !section.isDetached) {
        throw new Broken(Rule.BUSY_IF_TAKEN, section + " is told that its own lock is taken");
      }
      if (inner.isPresent()) {
        if (shared && !wanted.shared()) {
          Seen.READ_WITHIN_A_WRITE.count();
        }
        try (AnyLease lease = inner.get()) {
          // If the outer one was detached and then lost, the inner one is not of its section.
          boolean same =
              ModelEngine.held(lease).token() == ModelEngine.held(outer).token();
          boolean unused = same && holds(lease, section, wanted, 1);
        }
      }
    } catch (LockStoreException e) {
      judge.failed(this, e);
    }
  }

  /** If the outer one was detached, it asks the store; others of its client get the answer, too. */
  private Optional<? extends AnyLease> askAgain(Wanted again) {
    Judge.Asking asking = judge.asks(machine, again.name(), again.shared());
    try {
      return again.of(client).tryLock();
    } finally {
      asking.end();
    }
  }

  private void byThread(Wanted wanted, Duration wait, Judge.Asking asking)
      throws InterruptedException {
    Lock lock = wanted.asLock(client);
    boolean locked = true;
    switch (dice.below(4)) {
      case 0 -> locked = lock.tryLock();
      case 1 -> locked = lock.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS);
      case 2 -> lock.lockInterruptibly();
      default -> lock.lock();
    }
    if (!locked) {
      judge.busy(this, wanted.name(), wanted.shared(), asking);
      return;
    }
    asking.end();
    Claim.Mode mode = wanted.shared() ? Claim.SHARED : Claim.EXCLUSIVE;
    Section section = section(wanted, ModelEngine.held(client, wanted.name(), mode, thread));
    judge.begins(section);
    try {
      sleep(dice.upTo(setting.ttlNanosMax()));
    } finally {
      judge.ends(section);
      close(section, lock::unlock);
    }
  }

  /** An interrupt ends it. */
  private void sleep(long nanos) {
    long endNanos = machine.nanosNow() + nanos;
    for (long left = nanos; left > 0 && !stops; left = endNanos - machine.nanosNow()) {
      machine.park(this, left);
      if (Thread.interrupted()) {
        return;
      }
    }
  }
}
