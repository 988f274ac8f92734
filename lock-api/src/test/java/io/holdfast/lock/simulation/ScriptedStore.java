package io.holdfast.lock.simulation;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClientBuilder;
import io.holdfast.lock.internal.memory.MemoryStore;
import io.holdfast.lock.internal.memory.MemoryTable;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * An in-memory store that does as it is told: it counts its calls, and a test says which of them
 * wait, fail, lose their reply or come late.
 */
public final class ScriptedStore implements PermitStore {
  /** A thing that a store can be asked. */
  public enum Op {
    TRY_ACQUIRE,
    ACQUIRE_OR_QUEUE,
    POLL,
    LEAVE,
    RELEASE,
    WITHDRAW,
    RENEW,
    EXTEND,
    VERIFY,
    INSPECT,
    LIST,
    FORCE_RELEASE,
    CLOSE
  }

  /** A call, noted when it begins. */
  public record Call(Op op, List<Claim> claims, Thread thread) {
    /** The names that it is about. */
    public List<String> names() {
      return claims.stream().map(claim -> claim.key().name()).toList();
    }
  }

  /** A way to carry out a call. */
  public interface Behaviour {
    /** Carries it out, or not. */
    Object run(Callable<Object> call) throws Throwable;
  }

  /** Options with this maximum are refused. */
  public static final Duration UNSUPPORTED_MAX_HOLD = Duration.ofDays(13);

  private final SimulatedTime time;
  private final MemoryStore store;
  private final List<Call> calls = new ArrayList<>();
  private final List<Gate> gates = new ArrayList<>();
  private final Map<Op, Deque<Behaviour>> next = new EnumMap<>(Op.class);
  private final Map<Op, Behaviour> always = new EnumMap<>(Op.class);
  private final List<ScriptedGrant> grants = new ArrayList<>();
  private volatile @Nullable StoreEvents events;
  private volatile Function<Claim, Duration> validity = Claim::ttl;
  private volatile @Nullable Duration handOversValidFor;
  private volatile ToIntFunction<PermitGrant> permits = PermitGrant::permit;
  private volatile Function<Grant, Object> groups = grant -> this;
  private final AtomicReference<@Nullable Consumer<Grant>> beforeNextGrant =
      new AtomicReference<>();

  /** A store with a server of its own. */
  public ScriptedStore(SimulatedTime time) {
    this(time, new MemoryTable());
  }

  /** A store on a server that it shares with others. */
  public ScriptedStore(SimulatedTime time, MemoryTable server) {
    this.time = time;
    this.store = new MemoryStore(server, time);
  }

  /** A builder of clients of this store, on its time. */
  public Builder client() {
    return new Builder(this).timeSource(time);
  }

  /** Builds clients. */
  public static final class Builder extends SemaphoreClientBuilder<Builder> {
    private final ScriptedStore store;

    private Builder(ScriptedStore store) {
      this.store = store;
    }

    @Override
    protected ScriptedStore openStore(StoreSettings settings) {
      store.events = settings.events();
      return store;
    }
  }

  // The script

  /** The next call that has no behaviour yet. */
  public synchronized void next(Op op, Behaviour behaviour) {
    next.computeIfAbsent(op, o -> new ArrayDeque<>()).add(behaviour);
  }

  /** Every call without a behaviour of its own, until {@link #heal}. */
  public synchronized void always(Op op, Behaviour behaviour) {
    always.put(op, behaviour);
  }

  /** From now on calls are carried out. */
  public synchronized void heal() {
    always.clear();
    next.clear();
  }

  /** The next call waits before it is carried out. */
  public Gate holdNext(Op op) {
    Gate gate = gate();
    next(op, call -> {
      gate.pass();
      return call.call();
    });
    return gate;
  }

  /** The next call is carried out at once, and its answer waits. */
  public Gate holdNextAnswer(Op op) {
    Gate gate = gate();
    next(op, call -> {
      Object answer = call.call();
      gate.pass();
      return answer;
    });
    return gate;
  }

  /** The next call changes nothing and fails. */
  public void failNext(Op op) {
    next(op, refusing());
  }

  /** The next call is carried out, and its answer is lost. */
  public void loseNextAnswer(Op op) {
    next(op, call -> {
      Object unused = call.call();
      throw StoreException.unanswered("the answer was lost", null);
    });
  }

  /** The next call is answered only after so much time. */
  public void delayNextAnswer(Op op, Duration delay) {
    next(op, call -> {
      Object answer = call.call();
      time.advance(delay);
      return answer;
    });
  }

  /** Everything fails until {@link #heal}. */
  public void breakDown() {
    for (Op op : Op.values()) {
      if (op != Op.CLOSE) {
        always(op, refusing());
      }
    }
  }

  /**
   * Sets the longest validity of a grant, of a renewal and of a verification in the background;
   * without this it is the claim's TTL.
   */
  public void validFor(Function<Claim, Duration> claims) {
    validity = claims;
  }

  /** From now on a waiter is told of its grant, which is good for so long after it last asked. */
  public void tellOfHandOvers(Duration validFor) {
    handOversValidFor = validFor;
  }

  /** Which permit a grant is said to have; without this: the one that it has. */
  public void permits(ToIntFunction<PermitGrant> permit) {
    permits = permit;
  }

  /** Which grants are renewed together; without this: all. */
  public void groups(Function<Grant, Object> grouping) {
    groups = grouping;
  }

  /** Does this with the next grant, however it is given, before the client has it. */
  public void beforeNextGrant(Consumer<Grant> action) {
    beforeNextGrant.set(action);
  }

  /** Opens every gate. */
  public synchronized void openGates() {
    gates.forEach(Gate::open);
  }

  private static Behaviour refusing() {
    return call -> {
      throw StoreException.refused("the store is down", null);
    };
  }

  private synchronized Gate gate() {
    Gate gate = new Gate();
    gates.add(gate);
    return gate;
  }

  // What is seen

  /** The events that the store may tell unasked. */
  public StoreEvents events() {
    return java.util.Objects.requireNonNull(events);
  }

  /** The calls so far. */
  public synchronized List<Call> calls() {
    return List.copyOf(calls);
  }

  /** The calls of one sort so far. */
  public List<Call> calls(Op op) {
    return calls().stream().filter(call -> call.op() == op).toList();
  }

  /** The number of calls of one sort. */
  public int count(Op op) {
    return calls(op).size();
  }

  /** Waits until there were so many calls of one sort. */
  public void awaitCount(Op op, int count) {
    Eventually.await(
        () -> count + " calls of " + op + ", got " + calls(), () -> count(op) >= count);
  }

  /** The last grant of this name. */
  public synchronized Grant grant(String name) {
    return grants.stream()
        .filter(grant -> grant.claim().key().name().equals(name))
        .reduce((first, second) -> second)
        .orElseThrow();
  }

  /** All grants of this name, the first first. */
  public synchronized List<Grant> grants(String name) {
    return grants.stream()
        .filter(grant -> grant.claim().key().name().equals(name))
        .<Grant>map(grant -> grant)
        .toList();
  }

  /** The holder of the lock, without a call being counted. */
  public Optional<StoredHolder> holder(String name) {
    return store.inspect(new LockKey(LockKind.MUTEX, name));
  }

  // The store

  private record ScriptedGrant(Grant grant, Duration validFor, int permit) implements PermitGrant {
    @Override
    public Claim claim() {
      return grant.claim();
    }

    @Override
    public long number() {
      return grant.number();
    }

    @Override
    public Duration crashBound(Duration ttl) {
      return grant.crashBound(ttl);
    }
  }

  private <T> T play(Op op, Collection<Claim> claims, Callable<T> call) throws StoreException {
    Behaviour behaviour;
    synchronized (this) {
      calls.add(new Call(op, List.copyOf(claims), Thread.currentThread()));
      Deque<Behaviour> queue = next.get(op);
      Behaviour own = queue == null ? null : queue.poll();
      behaviour = own != null ? own : always.getOrDefault(op, Callable::call);
    }
    try {
      @SuppressWarnings("unchecked")
      T answer = (T) behaviour.run(call::call);
      return answer;
    } catch (Throwable e) {
      throw Sneaky.thrown(e);
    }
  }

  private Grant seen(Grant grant) {
    return seen(grant, validity.apply(grant.claim()));
  }

  private Grant seen(Grant grant, Duration validFor) {
    ScriptedGrant scripted =
        new ScriptedGrant(grant, validFor, permits.applyAsInt((PermitGrant) grant));
    synchronized (this) {
      grants.add(scripted);
    }
    Consumer<Grant> action = beforeNextGrant.getAndSet(null);
    if (action != null) {
      action.accept(scripted);
    }
    return scripted;
  }

  private static Grant unwrap(Grant grant) {
    return ((ScriptedGrant) grant).grant();
  }

  @Override
  public void checkOptions(LockOptions options) {
    options.maxHold().ifPresent(maxHold -> {
      if (maxHold.equals(UNSUPPORTED_MAX_HOLD)) {
        throw new IllegalArgumentException("This store has no maxHold of " + maxHold);
      }
    });
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return play(Op.TRY_ACQUIRE, List.of(claim), () -> store.tryAcquire(claim).map(this::seen));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return play(Op.ACQUIRE_OR_QUEUE, List.of(claim), () -> {
      Acquisition acquisition = store.acquireOrQueue(claim, wakeUp);
      if (acquisition instanceof Acquisition.Granted granted) {
        return new Acquisition.Granted(seen(granted.grant()));
      }
      Acquisition.Queued queued = (Acquisition.Queued) acquisition;
      return new Acquisition.Queued(
          new ScriptedTicket(claim, queued.ticket()), queued.recheckAfter());
    });
  }

  private final class ScriptedTicket implements Ticket {
    private final Claim claim;
    private final Ticket ticket;
    private @Nullable Status told;

    ScriptedTicket(Claim claim, Ticket ticket) {
      this.claim = claim;
      this.ticket = ticket;
    }

    @Override
    public Status poll() throws StoreException {
      return play(Op.POLL, List.of(claim), () -> {
        Status status = told instanceof Granted ? told : ticket.poll();
        return status instanceof Granted granted ? new Granted(seen(granted.grant())) : status;
      });
    }

    @Override
    public Optional<Grant> handedOver() {
      Duration validFor = handOversValidFor;
      if (validFor == null) {
        return Optional.empty();
      }
      try {
        told = ticket.poll();
      } catch (StoreException e) {
        throw new AssertionError("The store in memory does not fail", e);
      }
      return told instanceof Granted granted
          ? Optional.of(seen(granted.grant(), validFor))
          : Optional.empty();
    }

    @Override
    public Optional<String> holder() {
      return ticket.holder();
    }

    @Override
    public void close() throws StoreException {
      play(Op.LEAVE, List.of(claim), () -> {
        ticket.close();
        return true;
      });
    }
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    return play(Op.RELEASE, List.of(grant.claim()), () -> store.release(unwrap(grant), holdFor));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    play(Op.WITHDRAW, List.of(claim), () -> {
      store.withdraw(claim);
      return true;
    });
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return groups.apply(grant);
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return play(Op.RENEW, grants.stream().map(Grant::claim).toList(), () -> {
      List<Renewal> results = new ArrayList<>();
      List<Renewal> stored =
          store.renew(grants.stream().map(ScriptedStore::unwrap).toList());
      for (int i = 0; i < stored.size(); i++) {
        results.add(
            stored.get(i) instanceof Renewal.Renewed
                ? new Renewal.Renewed(validity.apply(grants.get(i).claim()))
                : stored.get(i));
      }
      return results;
    });
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return play(Op.EXTEND, List.of(grant.claim()), () -> store.extend(unwrap(grant), ttl));
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return play(Op.VERIFY, List.of(grant.claim()), () -> store.verify(unwrap(grant)));
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return play(Op.VERIFY, grants.stream().map(Grant::claim).toList(), () -> {
      List<Optional<Duration>> results = new ArrayList<>();
      for (Grant grant : grants) {
        Duration validFor = validity.apply(grant.claim());
        results.add(store
            .verify(unwrap(grant))
            .map(left -> left.compareTo(validFor) < 0 ? left : validFor));
      }
      return results;
    });
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return play(Op.INSPECT, List.of(), () -> store.inspect(key));
  }

  @Override
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return play(Op.INSPECT, List.of(), () -> store.holders(key));
  }

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return play(Op.INSPECT, List.of(), () -> store.readers(key));
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return play(Op.LIST, List.of(), () -> store.list(kind, namePrefix, limit));
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return play(Op.FORCE_RELEASE, List.of(), () -> store.forceRelease(key, number));
  }

  @Override
  public void close() {
    try {
      play(Op.CLOSE, List.of(), () -> true);
    } catch (StoreException e) {
      throw new AssertionError(e);
    }
  }
}
