package io.holdfast.lock.model;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A client's side of the model's store: each call is a request that takes its way. */
final class RemoteStore implements PermitStore {
  private final World world;
  private final Machine machine;
  private final Network network;
  private final Server server;
  private final long timeoutNanos;
  private final Dice dice = new Dice();
  private final boolean tellsDoubts;
  private @Nullable StoreEvents events;
  private long questions;

  /** Nothing may fail for no reason any more. */
  private boolean calm;

  private boolean closed;

  RemoteStore(
      World world, Machine machine, Network network, Server server, long timeoutNanos, long seed) {
    this.world = world;
    this.machine = machine;
    this.network = network;
    this.server = server;
    this.timeoutNanos = timeoutNanos;
    this.tellsDoubts = dice.of(seed).oneIn(4);
  }

  void events(StoreEvents told) {
    events = told;
  }

  void calm() {
    calm = true;
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public void checkOptions(LockOptions options) {
    // All that the engine allows.
  }

  /** A request on its way, and the thread that waits for its answer. */
  private final class Call<A> implements Network.Carried {
    private final Supplier<String> what;
    private final Supplier<A> atServer;
    private final boolean mayComeAgain;
    private final Thread thread = Thread.currentThread();
    private @Nullable A first;
    private @Nullable A answer;
    private boolean refused;
    private boolean gaveUp;

    Call(Supplier<String> what, boolean mayComeAgain, Supplier<A> atServer) {
      this.what = what;
      this.mayComeAgain = mayComeAgain;
      this.atServer = atServer;
    }

    @Override
    public void out() {
      if (gaveUp) {
        Seen.CARRIED_OUT_LATE.count();
      }
      server.sign(machine.index());
      A found = atServer.get();
      world.say(() -> machine + "'s " + what.get()
          + (gaveUp ? " is carried out, late: " : " is carried out: ") + text(found));
      if (first == null) {
        first = found;
      }
    }

    @Override
    public void answered() {
      if (gaveUp) {
        Seen.ANSWERED_LATE.count();
      }
      answer = first;
      LockSupport.unpark(thread);
    }

    @Override
    public void refused() {
      refused = true;
      LockSupport.unpark(thread);
    }

    @Override
    public boolean mayComeAgain() {
      return mayComeAgain;
    }

    A await() throws StoreException {
      world.say(() -> machine + "'s " + thread.getName() + " sends " + what.get());
      network.send(machine.index(), this);
      long endNanos = machine.nanosNow() + timeoutNanos;
      boolean interrupted = false;
      try {
        while (answer == null && !refused) {
          long leftNanos = endNanos - machine.nanosNow();
          if (leftNanos <= 0) {
            break;
          }
          machine.park(this, leftNanos);
          if (Thread.interrupted()) {
            interrupted = true;
            if (dice.oneIn(4)) {
              // As many drivers do.
              break;
            }
          }
        }
      } finally {
        if (interrupted) {
          thread.interrupt();
        }
      }
      A got = answer;
      if (got != null) {
        machine.answered();
        if (!calm && dice.oneIn(500)) {
          throw new IllegalStateException("A driver that breaks");
        }
        return got;
      }
      gaveUp = true;
      world.say(() -> machine + "'s " + what.get() + (refused ? " was refused" : " has no answer"));
      if (refused) {
        Seen.REFUSED.count();
        throw StoreException.refused("Refused", null);
      }
      Seen.UNANSWERED.count();
      throw StoreException.unanswered("No answer", null);
    }
  }

  private static String text(@Nullable Object answer) {
    if (answer instanceof Optional<?> optional && optional.isPresent()) {
      return text(optional.get());
    } else if (answer instanceof Server.Answer a) {
      return a.gone() ? "gone" : a.grant() == null ? "waits" : text(a.grant());
    } else if (answer instanceof ModelGrant grant) {
      return "grant " + grant.number() + " for " + grant.validFor();
    }
    return String.valueOf(answer);
  }

  private <A> A call(Supplier<String> what, boolean mayComeAgain, Supplier<A> atServer)
      throws StoreException {
    return new Call<>(what, mayComeAgain, atServer).await();
  }

  private static String id(Claim claim) {
    return claim.key().name() + "/" + claim.ownerId().substring(26);
  }

  private static String id(Grant grant) {
    return grant.claim().key().name() + "/" + grant.number();
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return call(
        () -> "tryAcquire " + id(claim), false, () -> server.tryAcquire(claim, machine.index()));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Place place = new Place(claim, wakeUp);
    long question = place.asks();
    Server.Answer answer = call(
        () -> "acquireOrQueue " + id(claim),
        false,
        () -> server.acquireOrQueue(claim, machine.index(), question, place));
    ModelGrant grant = answer.grant();
    return grant == null
        ? new Acquisition.Queued(place, answer.recheckAfter())
        : new Acquisition.Granted(grant);
  }

  /** A place in the server's line. */
  private final class Place implements io.holdfast.lock.spi.Ticket, Server.Waiting {
    private final Claim claim;
    private final Runnable wakeUp;
    private long question;
    private boolean usedUp;
    private @Nullable ModelGrant news;

    Place(Claim claim, Runnable wakeUp) {
      this.claim = claim;
      this.wakeUp = wakeUp;
    }

    long asks() {
      question = ++questions;
      news = null;
      return question;
    }

    @Override
    public void wake() {
      network.tell(machine.index(), wakeUp);
    }

    @Override
    public void handedOver(ModelGrant grant, long lastQuestion) {
      network.tell(machine.index(), () -> {
        // It counts from the last question: only if that is known to be the server's, too.
        if (lastQuestion == question) {
          news = grant;
        }
        wakeUp.run();
      });
    }

    @Override
    public Status poll() throws StoreException {
      long asked = asks();
      Server.Answer answer =
          call(() -> "poll " + id(claim), false, () -> server.poll(claim, machine.index(), asked));
      ModelGrant grant = answer.grant();
      if (grant != null) {
        usedUp = true;
        return new Granted(grant);
      }
      return answer.gone() ? new Gone() : new Waiting(answer.recheckAfter());
    }

    @Override
    public Optional<Grant> handedOver() {
      ModelGrant grant = news;
      if (grant != null) {
        Seen.HANDED_OVER_BY_THE_STORE.count();
      }
      return Optional.ofNullable(grant);
    }

    @Override
    public Optional<String> holder() {
      return Optional.empty();
    }

    @Override
    public void close() throws StoreException {
      if (!usedUp) {
        boolean unused = call(() -> "leave " + id(claim), true, () -> {
          server.withdraw(claim);
          return true;
        });
      }
    }
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    return call(
        () -> "release " + id(grant) + (holdFor.isZero() ? "" : " after " + holdFor),
        true,
        () -> server.release(grant, holdFor));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    boolean unused = call(() -> "withdraw " + id(claim), true, () -> {
      server.withdraw(claim);
      return true;
    });
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return grant.claim().key().name().charAt(0) % 2;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return call(() -> "renew " + grants.stream().map(RemoteStore::id).toList(), true, () -> {
      List<Renewal> results = new ArrayList<>();
      for (Grant grant : grants) {
        if (!calm && dice.oneIn(100)) {
          results.add(new Renewal.Unknown(new IllegalStateException("One of several servers")));
        } else {
          Optional<Duration> validFor = server.extend(grant, grant.claim().ttl());
          results.add(validFor.<Renewal>map(Renewal.Renewed::new).orElseGet(Renewal.Lost::new));
          doubt(grant);
        }
      }
      return results;
    });
  }

  /** The server's word of a doubt, with no reason but that it may. */
  private void doubt(Grant grant) {
    StoreEvents told = events;
    if (!calm && tellsDoubts && told != null && dice.oneIn(8)) {
      network.tell(machine.index(), () -> {
        if (!machine.isDead()) {
          told.suspended(grant);
        }
      });
    }
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    Seen.EXTENDED.count();
    return call(() -> "extend " + id(grant) + " by " + ttl, true, () -> server.extend(grant, ttl));
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return call(() -> "verify " + id(grant), true, () -> server.verify(grant));
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return call(
        () -> "verify " + grants.stream().map(RemoteStore::id).toList(),
        true,
        () -> grants.stream().map(server::verify).toList());
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return holders(key).stream().map(StoredPermit::holder).findFirst();
  }

  @Override
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return call(() -> "holders " + key.name(), true, () -> server.holders(key));
  }

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return call(() -> "readers " + key.name(), true, () -> server.readers(key));
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) {
    return List.of();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return call(() -> "force " + key.name() + "/" + number, true, () -> server.force(key, number));
  }

  @Override
  public void close() {
    closed = true;
  }
}
