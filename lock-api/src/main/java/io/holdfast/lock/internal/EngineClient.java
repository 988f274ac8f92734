package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client: what its locks and leases do, put together from the parts of the engine. */
final class EngineClient implements LockClient, Tenure.Observer {
  private static final Logger log = LoggerFactory.getLogger(EngineClient.class);

  private static final long CLOSE_LOOK_NANOS = 2_000_000;
  private static final int NAMES_LOGGED_MAX = 20;
  private static final int LIST_LIMIT_MAX = 10_000;

  private final LockOptions defaultOptions;
  private final Duration storeTimeout;
  private final HandOff handOff;
  private final TimeSource time;
  private final LockStore store;
  private final Claims claims;

  private final Lines lines = new Lines();
  private final Background background;
  private final Events events;
  private final Keeper keeper;
  private final Aftermath aftermath;
  private final AtomicBoolean closed = new AtomicBoolean();

  EngineClient(Engine.Settings settings, String clientName, Claims claims, LockStore store) {
    this.defaultOptions = settings.defaultOptions();
    this.storeTimeout = settings.storeTimeout();
    this.handOff = settings.localHandOff() ? HandOff.BOUNDED : HandOff.NEVER;
    this.time = settings.time();
    this.store = store;
    this.claims = claims;
    this.background = new Background(clientName);
    this.events = new Events(
        settings.listeners(),
        new Callbacks(background::callBack, settings.callbackExecutor()),
        time);
    this.keeper = new Keeper(clientName, store, time, background, this::dropped);
    this.aftermath = new Aftermath(store, time, background, keeper, storeTimeout);
  }

  void start() {
    keeper.start();
  }

  @Override
  public DistributedLock get(String name) {
    return new LockView(this, new LockKey(LockKind.MUTEX, name), defaultOptions);
  }

  @Override
  public DistributedLock get(String name, LockOptions options) {
    return lock(new LockKey(LockKind.MUTEX, name), options);
  }

  DistributedLock lock(LockKey key, LockOptions options) {
    StoreTimeouts.check(options, storeTimeout);
    store.checkOptions(options);
    return new LockView(this, key, options);
  }

  TimeSource time() {
    return time;
  }

  LockStore store() {
    return store;
  }

  Claims claims() {
    return claims;
  }

  Lines lines() {
    return lines;
  }

  Events events() {
    return events;
  }

  Keeper keeper() {
    return keeper;
  }

  Aftermath aftermath() {
    return aftermath;
  }

  long storeTimeoutNanos() {
    return Nanos.of(storeTimeout);
  }

  boolean isClosed() {
    return closed.get();
  }

  // Acquiring

  /**
   * What came of a call that wants a lock.
   *
   * @param lease null: the lock stayed taken
   * @param waited how long the call took
   * @param holder who has the lock, as far as known
   */
  record Outcome(
      @Nullable LeaseHandle lease,
      Duration waited,
      @Nullable String holder) {}

  Outcome acquire(LockKey key, LockOptions options, Patience patience) throws InterruptedException {
    Events.Asking asking = events.asking(key.name());
    try {
      Outcome outcome = new Attempt(this, key, options, patience, asking).run();
      if (outcome.lease() == null) {
        asking.notAcquired(null);
      }
      return outcome;
    } catch (InterruptedException | RuntimeException e) {
      asking.notAcquired(e);
      throw e;
    }
  }

  Outcome askOnce(LockKey key, LockOptions options) {
    try {
      return acquire(key, options, Patience.ASK_ONCE);
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  LeaseHandle lock(LockKey key, LockOptions options, Patience patience)
      throws InterruptedException {
    return Objects.requireNonNull(
        acquire(key, options, patience).lease(), "A wait without limit ran out");
  }

  LeaseHandle lockUninterruptibly(LockKey key, LockOptions options) {
    try {
      return lock(key, options, Patience.unlimitedAndUninterruptible(time));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  // Holding

  /** Asks the store; false: the lease is over. */
  boolean verify(Tenure tenure) {
    if (tenure.standing().isOver()) {
      return false;
    }
    try {
      // Asked again if the machine slept while the question was on its way.
      while (true) {
        Moment asked = Moment.now(time);
        Optional<Duration> left = ask(tenure.line().key(), () -> store.verify(tenure.grant()));
        if (left.isEmpty()) {
          tenure.lose(LeaseLoss.Reason.TAKEN);
          return false;
        } else if (tenure.confirmed(asked, left.get())) {
          return tenure.stands();
        }
      }
    } catch (LockStoreException e) {
      tenure.unanswered();
      throw e;
    }
  }

  boolean isHeldBy(LockKey key, Thread thread) {
    Line line = lines.find(key);
    Hold hold = line == null ? null : line.ownedBy(thread);
    return hold != null && hold.tenure().stands();
  }

  void onLost(Handle handle, Consumer<? super LeaseLoss> listener) {
    LeaseLoss loss = handle.hold().tenure().line().onLost(handle, listener);
    if (loss != null) {
      events.lost(loss, listener);
    }
  }

  void rememberLocked(LeaseHandle lease) {
    lease.handle().hold().tenure().line().rememberLocked(lease);
  }

  @Nullable
  LeaseHandle lastLocked(LockKey key, Thread thread) {
    Line line = lines.find(key);
    return line == null ? null : line.lastLocked(thread);
  }

  // Giving back

  void close(Handle handle) {
    Line.Closing closing = closeLocally(handle);
    Hold hold = handle.hold();
    if (closing instanceof Line.GiveBack) {
      LeaseLoss loss = giveBack(hold, handle.lossListeners, events::released);
      if (loss != null) {
        throw Line.exceptionOf(loss);
      }
    } else if (closing instanceof Line.HandedOn) {
      events.released(hold, true);
    } else if (closing instanceof Line.WasLost lost) {
      throw Line.exceptionOf(lost.loss());
    } else if (closing instanceof Line.Guarded) {
      hold.tenure().renewal().stop();
      throw new IllegalStateException("A guard is open on the lease of lock '"
          + hold.tenure().line().key().name()
          + "': close the guard first. The lease is no longer renewed, and is released when the"
          + " guard ends");
    }
  }

  /** Closes a handle that its caller never got to see. */
  void abandon(Handle handle) {
    if (closeLocally(handle) instanceof Line.GiveBack) {
      try {
        endAtStore(handle.hold().tenure());
      } finally {
        lines.leave(handle.hold().tenure().line());
      }
    }
  }

  private Line.Closing closeLocally(Handle handle) {
    Tenure tenure = handle.hold().tenure();
    Line line = tenure.line();
    // Marks a deadline that has passed, so that the line knows of the loss.
    boolean stood = tenure.stands();
    Line.Closing closing =
        line.close(handle, Thread.currentThread(), stood ? handOff : HandOff.NEVER, time.nanos());
    if (closing instanceof Line.WasLost lost && lost.last()) {
      lines.leave(line);
    }
    return closing;
  }

  /** Gives back a grant that nobody got to see. */
  void giveBack(Grant grant) {
    boolean interrupted = Thread.interrupted();
    try {
      ReleaseOutcome outcome = store.release(grant, Duration.ZERO);
      log.debug("Lock '{}' given back unused: {}", grant.claim().key().name(), outcome);
    } catch (StoreException | RuntimeException e) {
      log.debug("Lock '{}' not given back yet", grant.claim().key().name(), e);
      aftermath.release(grant, Duration.ZERO);
    } finally {
      restore(interrupted);
    }
  }

  void closeGuard(Hold hold) {
    Tenure tenure = hold.tenure();
    switch (tenure.line().closeGuard(hold)) {
      case GIVE_BACK ->
        background.cleanUp(() -> giveBack(hold, List.of(), events::releasedInBackground));
      case FREE_LOST -> {
        if (endedByUs(tenure.standing().lostBy())) {
          aftermath.release(tenure.grant(), tenure.minHoldLeft());
        }
      }
      case NOTHING -> keeper.wake();
    }
  }

  private interface ReleaseEvent {
    void tell(Hold hold, boolean confirmed);
  }

  /**
   * Gives the lease back to the store, after the line said so.
   *
   * @param listeners who is told if it turns out to have been lost
   * @return the loss, if so
   */
  private @Nullable LeaseLoss giveBack(
      Hold hold, List<Consumer<? super LeaseLoss>> listeners, ReleaseEvent event) {
    Tenure tenure = hold.tenure();
    boolean confirmed;
    try {
      confirmed = endAtStore(tenure);
    } finally {
      lines.leave(tenure.line());
    }
    LeaseLoss.Reason lostBy = tenure.standing().lostBy();
    if (lostBy == null) {
      event.tell(hold, confirmed);
      return null;
    }
    LeaseLoss loss = Line.lossOf(hold, lostBy);
    events.lost(hold, loss, listeners);
    return loss;
  }

  /** As the line's talker, which it no longer is on return; whether the store confirmed the end. */
  private boolean endAtStore(Tenure tenure) {
    keeper.forget(tenure);
    tenure.renewal().stop();
    try {
      return tenure.beginEnd() && release(tenure);
    } finally {
      tenure.line().doneTalking();
    }
  }

  /** Whether the store confirmed it. */
  private boolean release(Tenure tenure) {
    boolean interrupted = Thread.interrupted();
    try {
      if (store.release(tenure.grant(), tenure.minHoldLeft()) == ReleaseOutcome.ALREADY_LOST) {
        tenure.endLost();
        return false;
      }
      tenure.endReleased();
      return true;
    } catch (StoreException | RuntimeException e) {
      endUnconfirmed(tenure, e);
      return false;
    } catch (Error e) {
      endUnconfirmed(tenure, e);
      throw e;
    } finally {
      restore(interrupted);
    }
  }

  private void endUnconfirmed(Tenure tenure, Throwable cause) {
    tenure.endReleased();
    log.warn(
        "The lease of lock '{}' could not be given back; we go on trying until its TTL is over",
        tenure.line().key().name(),
        cause);
    aftermath.release(tenure.grant(), tenure.minHoldLeft());
  }

  // Told by tenures, by the keeper and by the store

  @Override
  public void suspect(Tenure tenure) {
    tenure.renewal().doubted();
    keeper.wake();
  }

  @Override
  public void uncertain(Tenure tenure) {
    Hold hold = holdOf(tenure);
    if (hold != null) {
      events.uncertain(hold);
    }
  }

  @Override
  public void confirmed(Tenure tenure) {
    Hold hold = holdOf(tenure);
    if (hold != null) {
      events.confirmed(hold);
    }
  }

  @Override
  public void lost(Tenure tenure, LeaseLoss.Reason reason) {
    keeper.forget(tenure);
    Line line = tenure.line();
    Line.Loss loss = line.lost(tenure, reason);
    if (loss != null && loss.unused()) {
      lines.leave(line);
    }
    if (endedByUs(reason) && (loss == null || !loss.guarded())) {
      // Others need not wait for the rest of the TTL.
      aftermath.release(tenure.grant(), tenure.minHoldLeft());
    }
    // Without a loss to tell of here, the closing thread tells.
    if (loss != null && loss.seen()) {
      log.warn(
          "The lease of lock '{}' with token {} was lost: {}",
          line.key().name(),
          loss.loss().token(),
          reason);
      events.lost(loss.hold(), loss.loss(), loss.listeners());
    }
  }

  /** Whether the store may still show the lease that was lost. */
  private static boolean endedByUs(LeaseLoss.@Nullable Reason reason) {
    return reason == LeaseLoss.Reason.EXPIRED || reason == LeaseLoss.Reason.MAX_HOLD;
  }

  void suspended(Grant grant) {
    Tenure tenure = tenureOf(grant);
    if (tenure != null) {
      // In this order: a keeper that looks in between must not answer a doubt that comes only now.
      tenure.unanswered();
      tenure.renewal().doubted();
      keeper.wake();
    }
  }

  void lost(Grant grant, LeaseLoss.Reason reason) {
    Tenure tenure = tenureOf(grant);
    if (tenure != null) {
      tenure.lose(reason);
    }
  }

  private void dropped(Handle handle) {
    Hold hold = handle.hold();
    Tenure tenure = hold.tenure();
    Line line = tenure.line();
    Line.Drop drop = line.drop(handle);
    if (drop == Line.Drop.CLOSED_BEFORE) {
      return;
    }
    log.warn(
        "A lease of lock '{}' with token {} became unreachable without close(){}",
        line.key().name(),
        hold.token(),
        drop == Line.Drop.LAST ? "; it is no longer renewed, and ends with its TTL" : "");
    events.leaked(hold);
    if (drop == Line.Drop.LAST) {
      tenure.renewal().stop();
    } else if (drop == Line.Drop.LAST_OF_LOST) {
      lines.leave(line);
    }
  }

  private @Nullable Tenure tenureOf(Grant grant) {
    Line line = lines.find(grant.claim().key());
    Hold hold = line == null ? null : line.holder();
    return hold != null && hold.tenure().grant().equals(grant) ? hold.tenure() : null;
  }

  private static @Nullable Hold holdOf(Tenure tenure) {
    Hold hold = tenure.line().holder();
    return hold != null && hold.tenure() == tenure ? hold : null;
  }

  // Administration

  Optional<LockHolder> inspect(LockKey key) {
    return ask(key, () -> store.inspect(key)).map(StoredLockHolder::new);
  }

  @Override
  public List<HeldLock> list(String namePrefix, int limit) {
    if (limit < 1 || limit > LIST_LIMIT_MAX) {
      throw new IllegalArgumentException(
          "A list has 1 to " + LIST_LIMIT_MAX + " locks, not " + limit);
    }
    if (!namePrefix.isEmpty()) {
      LockKey.checkName(namePrefix);
    }
    if (closed.get()) {
      throw new LockClientClosedException("");
    }
    try {
      List<HeldLock> held = new ArrayList<>();
      for (StoredLock lock : store.list(LockKind.MUTEX, namePrefix, limit)) {
        held.add(new ListedLock(new StoredLockHolder(lock.holder()), lock));
      }
      held.sort(Comparator.comparing(HeldLock::name));
      return held;
    } catch (StoreException e) {
      throw new LockStoreException("", "The store gave no usable answer: " + e.getMessage(), e);
    }
  }

  private record ListedLock(StoredLockHolder holder, StoredLock lock) implements HeldLock {
    @Override
    public String name() {
      return lock.key().name();
    }

    @Override
    public OptionalInt waiting() {
      return lock.waiting();
    }

    @Override
    public long token() {
      return holder.token();
    }

    @Override
    public String description() {
      return holder.description();
    }

    @Override
    public Instant since() {
      return holder.since();
    }

    @Override
    public Duration remaining() {
      return holder.remaining();
    }

    @Override
    public boolean isReleased() {
      return holder.isReleased();
    }
  }

  /** False: the lease is over. */
  boolean extend(Tenure tenure, Duration ttl) {
    Moment asked = Moment.now(time);
    Optional<Duration> validFor = ask(tenure.line().key(), () -> store.extend(tenure.grant(), ttl));
    if (validFor.isEmpty()) {
      tenure.lose(LeaseLoss.Reason.TAKEN);
      return false;
    }
    return tenure.confirmed(asked, validFor.get()) && tenure.stands();
  }

  boolean forceRelease(LockKey key, long grantNumber) {
    boolean released = ask(key, () -> store.forceRelease(key, grantNumber));
    Line line = lines.find(key);
    Hold hold = line == null ? null : line.holder();
    if (released && hold != null && hold.tenure().grant().number() == grantNumber) {
      hold.tenure().lose(LeaseLoss.Reason.TAKEN);
    }
    return released;
  }

  private interface Question<T> {
    T ask() throws StoreException;
  }

  private <T> T ask(LockKey key, Question<T> question) {
    requireOpen(key);
    boolean interrupted = Thread.interrupted();
    try {
      return question.ask();
    } catch (StoreException e) {
      throw failure(key, e);
    } catch (RuntimeException e) {
      throw failure(key, StoreException.unanswered("The store failed: " + e, e));
    } finally {
      restore(interrupted);
    }
  }

  private record StoredLockHolder(
      long token, String description, Instant since, Duration remaining, boolean isReleased)
      implements LockHolder {
    StoredLockHolder(StoredHolder holder) {
      this(
          Token.of(holder.number(), 0),
          holder.description(),
          holder.since(),
          holder.remaining(),
          holder.released());
    }
  }

  // The end

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    boolean interrupted = Thread.interrupted();
    try {
      long untilNanos = time.nanos() + storeTimeoutNanos();
      giveUp(loseAll(), untilNanos);
      interrupted |= awaitTalkers(untilNanos);
      interrupted |= endAftermath(untilNanos);
      keeper.close();
      background.close();
      store.close();
    } finally {
      restore(interrupted);
    }
  }

  /** What was held, in the order in which it is to be given back. */
  private List<Tenure> loseAll() {
    List<Tenure> tenures = new ArrayList<>();
    List<Tenure> guarded = new ArrayList<>();
    for (Line line : lines.all()) {
      line.closeClient();
      Hold hold = line.holder();
      if (hold != null) {
        // The release of a lease with an open guard may have to wait for the guard.
        (line.isGuarded() ? guarded : tenures).add(hold.tenure());
        hold.tenure().lose(LeaseLoss.Reason.CLIENT_CLOSED);
      }
    }
    tenures.addAll(guarded);
    return tenures;
  }

  private void giveUp(List<Tenure> tenures, long untilNanos) {
    List<Tenure> kept = new ArrayList<>();
    Throwable cause = null;
    for (Tenure tenure : tenures) {
      if (time.nanos() - untilNanos >= 0) {
        kept.add(tenure);
        continue;
      }
      try {
        ReleaseOutcome outcome = store.release(tenure.grant(), tenure.minHoldLeft());
        log.debug("Lock '{}' at close: {}", tenure.line().key().name(), outcome);
      } catch (StoreException | RuntimeException e) {
        kept.add(tenure);
        cause = e;
      }
    }
    if (!kept.isEmpty()) {
      log.warn(
          "The lock client was closed with {} lease(s) that could not be given back and end with"
              + " their TTL: {}",
          kept.size(),
          names(kept),
          cause);
    }
  }

  private static List<String> names(List<Tenure> tenures) {
    return tenures.stream()
        .map(tenure -> tenure.line().key().name())
        .limit(NAMES_LOGGED_MAX)
        .toList();
  }

  /** Whether the waiting thread was interrupted. */
  private boolean awaitTalkers(long untilNanos) {
    boolean interrupted =
        awaitAtClose(() -> lines.all().stream().noneMatch(Line::isTalking), untilNanos);
    List<String> talking = lines.all().stream()
        .filter(Line::isTalking)
        .map(line -> line.key().name())
        .limit(NAMES_LOGGED_MAX)
        .toList();
    if (!talking.isEmpty()) {
      log.warn(
          "The lock client was closed while the store had not answered about {}; what it grants"
              + " late ends with its TTL",
          talking);
    }
    return interrupted;
  }

  /** Whether the waiting thread was interrupted. */
  private boolean endAftermath(long untilNanos) {
    aftermath.end();
    boolean interrupted = awaitAtClose(aftermath::isOver, untilNanos);
    List<String> left = aftermath.leftUndone();
    if (!left.isEmpty()) {
      log.warn(
          "The lock client was closed before the store confirmed that {} lock(s) are free of what"
              + " it had asked for; what is left ends with its TTL: {}",
          left.size(),
          left.stream().limit(NAMES_LOGGED_MAX).toList());
    }
    return interrupted;
  }

  /** Whether the waiting thread was interrupted. */
  private boolean awaitAtClose(BooleanSupplier condition, long untilNanos) {
    boolean interrupted = false;
    while (!condition.getAsBoolean() && time.nanos() - untilNanos < 0) {
      time.park(this, CLOSE_LOOK_NANOS);
      interrupted |= Thread.interrupted();
    }
    return interrupted;
  }

  private void requireOpen(LockKey key) {
    if (closed.get()) {
      throw new LockClientClosedException(key.name());
    }
  }

  static LockStoreException failure(LockKey key, StoreException e) {
    return new LockStoreException(
        key.name(),
        "The store gave no usable answer about lock '" + key.name() + "': " + e.getMessage(),
        e);
  }

  private static void restore(boolean interrupted) {
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
