package io.holdfast.lock.schedule;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.queue.Entry;
import io.holdfast.lock.internal.queue.HandOff;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.LossNotice;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.WaitQueues;
import io.holdfast.lock.internal.queue.Waiter;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.DriftAllowance;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.internal.time.Validity;
import io.holdfast.lock.schedule.Request.Answer;
import io.holdfast.lock.schedule.Request.Kind;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A client: the engine's own grants and wait queue, used as the engine uses them, but for the
 * threads. Three users want the name in turn.
 */
final class Client implements ActiveGrant.Observer {
  static final int USERS = 3;
  private static final LockKey KEY = new LockKey(LockKind.MUTEX, "x");
  private static final Thread[][] THREADS = new Thread[2][USERS];
  private static final String[] OWNER_IDS = new String[256];

  static {
    for (Thread[] threads : THREADS) {
      for (int i = 0; i < USERS; i++) {
        threads[i] = new Thread(() -> {});
      }
    }
    for (int i = 0; i < OWNER_IDS.length; i++) {
      OWNER_IDS[i] = "owner" + i;
    }
  }

  private enum Asking {
    NOTHING,
    /** For the lock. */
    LOCK,
    /** Stands in the store's queue. */
    QUEUED,
    POLLING,
    /** Whether the grant that came stands. */
    VERIFYING
  }

  private final Schedule schedule;
  private final int index;
  private final Machine machine;
  private final LockOptions options;
  private final long ttlNanos;
  private final long sessionNanos;
  private final WaitQueue queue;

  // Users
  private final @Nullable Waiter[] waiters = new Waiter[USERS];
  private final @Nullable Handle[] handles = new Handle[USERS];
  private int leader = -1;

  private @Nullable Waiter leadersWaiter;

  // The leader's attempt
  private Asking asking = Asking.NOTHING;
  private @Nullable Claim claim;
  private @Nullable ClockReading asked;
  private long askedNumber;

  /** The grant that is held, or arrives. */
  private @Nullable ActiveGrant active;

  private @Nullable ActiveGrant lost;

  /** No deadline of the active grant may be later. */
  private long deadlineNanosMax;

  private boolean wasOver;
  private boolean isHandedOut;

  Client(Schedule schedule, int index, Machine machine, LockOptions options, long sessionNanos) {
    this.schedule = schedule;
    this.index = index;
    this.machine = machine;
    this.options = options;
    this.ttlNanos = Nanos.of(options.ttl());
    this.sessionNanos = sessionNanos;
    this.queue = new WaitQueues(hold -> {}).use(KEY);
  }

  int index() {
    return index;
  }

  Machine machine() {
    return machine;
  }

  long sessionNanos() {
    return sessionNanos;
  }

  @Override
  public String toString() {
    return index == 0 ? "A" : "B";
  }

  // What it does

  /** Somebody wants the lock. */
  void want(int user) {
    if (leader == user || waiters[user] != null || handles[user] != null) {
      return;
    }
    Waiter waiter = new Waiter(THREADS[index][user], options);
    Entry entry = queue.enter(waiter, true);
    if (entry instanceof Entry.Leads) {
      lead(user, waiter);
    } else if (entry instanceof Entry.Queued) {
      waiters[user] = waiter;
    }
  }

  private void lead(int user, Waiter waiter) {
    leader = user;
    leadersWaiter = waiter;
    ask();
  }

  private void ask() {
    Claim next = new Claim(
        KEY,
        OWNER_IDS[schedule.nextClaim() % OWNER_IDS.length],
        options.ttl(),
        options.minHold(),
        "holder");
    claim = next;
    queue.earlyEvents().asksWith(next.ownerId());
    send(Kind.ACQUIRE, next);
    asking = Asking.LOCK;
  }

  /** Asks for the lock once more, from the store's queue. */
  @Nullable
  Request poll() {
    if (asking != Asking.QUEUED || claim == null) {
      return null;
    }
    queue.asks();
    asking = Asking.POLLING;
    return send(Kind.POLL, claim);
  }

  /** Asks about its lease: renews or extends or verifies it. */
  @Nullable
  Request askAboutLease(Dice dice) {
    ActiveGrant grant = active;
    if (grant == null || grant.state().isOver() || !isHandedOut) {
      return null;
    }
    boolean verifies = dice.below(3) == 0;
    Kind kind = verifies
        ? Kind.VERIFY
        : options.isRenewed() ? Kind.RENEW : dice.oneIn(2) ? Kind.EXTEND : Kind.VERIFY;
    Request request = send(kind, grant.grant().claim());
    request.active = grant;
    request.grant = (ModelGrant) grant.grant();
    if (kind == Kind.EXTEND) {
      request.ttlNanos = Math.max(10_000_000, dice.partOf(2 * ttlNanos)) / 1_000 * 1_000;
    }
    return request;
  }

  private Request send(Kind kind, Claim about) {
    ClockReading now = machine.seen().read();
    Request request = new Request(kind, this, about, now, schedule.nextRequest());
    request.ttlNanos = ttlNanos;
    schedule.send(request);
    return request;
  }

  /** A user lets go, as the engine's Settlement does it. */
  void close(int user) {
    Handle handle = handles[user];
    if (handle == null) {
      return;
    }
    handles[user] = null;
    Hold hold = handle.hold();
    HandOff allowed = HandOff.NEVER;
    if (hold.grant().stands() && queue.isAwaited() && hold.grant().isFresh()) {
      allowed = HandOff.BOUNDED;
    }
    WaitQueue.Closing closing = queue.close(handle, THREADS[index][user], allowed, machine.nanos());
    if (schedule.isTraced()) {
      schedule.say(this + "." + user + " closes: " + closing);
    }
    if (closing == WaitQueue.Closing.HANDED_ON) {
      schedule.saw(Seen.HANDED_ON_LOCALLY);
    } else if (closing == WaitQueue.Closing.TO_BE_RELEASED) {
      giveBack(hold);
    }
  }

  private void giveBack(Hold hold) {
    ActiveGrant grant = hold.grant();
    machine.forget(grant);
    grant.schedule().stop();
    if (grant.beginEnd()) {
      Request request = release(grant);
      request.hold = hold;
      request.ttlNanos = Nanos.of(grant.minHoldLeft());
    } else {
      free(grant);
      boolean unused = queue.endRelease(hold, null);
    }
  }

  private Request release(ActiveGrant grant) {
    Request request = send(Kind.RELEASE, grant.grant().claim());
    request.active = grant;
    request.grant = (ModelGrant) grant.grant();
    request.ttlNanos = 0;
    return request;
  }

  private void free(ActiveGrant grant) {
    if (grant.isLostHereOnly()) {
      release(grant).ttlNanos = Nanos.of(grant.minHoldLeft());
    }
  }

  /** Some user asks whether the lease is held. */
  void look() {
    ActiveGrant grant = active;
    if (grant != null && isHandedOut) {
      boolean expected = seemsToStand(grant);
      boolean stands = grant.stands();
      if (stands != expected) {
        throw new Broken(Rule.LOOKS_AGREE, this + " says that it stands: " + stands);
      }
      if (schedule.isTraced()) {
        schedule.say(this + " looks: " + (stands ? "held" : "not held"));
      }
    }
  }

  /** The news of a lock that the store handed over to it. */
  Request news(ModelGrant grant) {
    return new Request(
        Kind.NEWS, this, grant.claim(), machine.seen().read(), schedule.nextRequest());
  }

  LockOptions options() {
    return options;
  }

  // What it is told

  void answered(Request request, Dice dice) {
    if (request.kind == Kind.NEWS) {
      handedOver(request, dice);
      return;
    }
    boolean yes = request.answer == Answer.YES;
    ActiveGrant grant = request.active;
    ClockReading from = from(request);
    switch (request.kind) {
      case ACQUIRE, POLL -> {
        if (!isAskedFor(request.claim) || (asking != Asking.LOCK && asking != Asking.POLLING)) {
          throw new AssertionError("Only the current attempt is answered");
        }
        asked = from;
        askedNumber = request.sentNumber;
        if (yes) {
          arrives(request.grant, from, dice);
        } else {
          asking = Asking.QUEUED;
          queue.waitsAtStore(() -> {});
        }
      }
      case RENEW -> confirm(request, grant, yes);
      case EXTEND -> confirm(request, grant, yes);
      case VERIFY -> {
        if (asking == Asking.VERIFYING && grant == active) {
          if (yes) {
            boolean unused = grant.verified(from, Duration.ofNanos(request.validForNanos));
            settleArrival(dice);
          } else {
            ask();
          }
        } else {
          confirm(request, grant, yes);
        }
      }
      case RELEASE -> released(request, yes);
      default -> {}
    }
    // One that is given back was perhaps never handed out.
    if (request.kind != Kind.RELEASE && grant != null && grant != active && seemsToStand(grant)) {
      throw new Broken(
          Rule.OVER_IS_OVER, this + " has another lease since, and " + grant.grant() + " stands");
    }
  }

  private boolean isAskedFor(Claim about) {
    Claim current = claim;
    return current != null && current.ownerId().equals(about.ownerId());
  }

  private ClockReading from(Request request) {
    return switch (schedule.flaw()) {
      case COUNTED_FROM_THE_REPLY -> machine.seen().read();
      case WALL_CLOCK_READ_AFTER_THE_ANSWER ->
        new ClockReading(request.asked.nanos(), machine.seen().read().wallAheadNanos());
      default -> request.asked;
    };
  }

  private void confirm(Request request, @Nullable ActiveGrant grant, boolean yes) {
    if (grant == null) {
      throw new AssertionError("About no grant");
    }
    if (!yes) {
      if (!grant.state().isOver()) {
        schedule.saw(Seen.TAKEN);
      }
      grant.lose(LeaseLoss.Reason.TAKEN);
      return;
    }
    boolean wasOverBefore = grant.state().isOver();
    boolean doubted = grant.state().phase() == Phase.SUSPECT;
    ClockReading from = from(request);
    Duration validFor = Duration.ofNanos(request.validForNanos);
    if (schedule.flaw() == Flaw.NO_MARGIN) {
      validFor = Duration.ofNanos(beforeMargin(request.validForNanos));
    }
    switch (request.kind) {
      case RENEW -> {
        bound(grant, from, Math.min(ttlNanos, request.validForNanos));
        boolean unused = grant.renewed(from, validFor);
        schedule.saw(Seen.RENEWED);
      }
      case EXTEND -> {
        bound(grant, from, Math.max(request.ttlNanos, request.validForNanos));
        boolean unused = grant.extended(from, Duration.ofNanos(request.ttlNanos), validFor);
        schedule.saw(Seen.EXTENDED);
      }
      default -> {
        if (schedule.flaw() == Flaw.MARGIN_OF_WHAT_IS_LEFT
            || schedule.flaw() == Flaw.DEADLINE_MOVED_BY_A_VERIFICATION) {
          boolean unused = options.isRenewed()
              ? grant.renewed(from, validFor)
              : grant.extended(from, validFor, validFor);
        } else {
          boolean unused = grant.verified(from, validFor);
        }
        schedule.saw(Seen.VERIFIED);
      }
    }
    if (doubted && grant.state().phase() == Phase.CONFIRMED) {
      schedule.saw(Seen.DOUBT_SETTLED);
    }
    if (schedule.flaw() == Flaw.CLIENT_REVIVES && wasOverBefore && grant == active) {
      active = new ActiveGrant(grant.grant(), options, from, machine.seen(), this);
    }
  }

  /** The promise that puts a deadline at the end of that. */
  private static long beforeMargin(long nanos) {
    long allowance = DriftAllowance.ofNanos(nanos);
    return nanos + allowance + allowance / 40;
  }

  private void bound(ActiveGrant grant, ClockReading from, long promisedNanos) {
    if (grant == active) {
      deadlineNanosMax = Nanos.later(
          deadlineNanosMax, from.nanos() + promisedNanos - DriftAllowance.ofNanos(promisedNanos));
    }
  }

  private void handedOver(Request news, Dice dice) {
    ClockReading from = asked;
    ModelGrant grant = news.grant;
    // What came before the last question is worth nothing.
    if (asking != Asking.QUEUED
        || !isAskedFor(news.claim)
        || news.lastQuestion != askedNumber
        || from == null
        || grant == null) {
      return;
    }
    if (schedule.flaw() == Flaw.HANDED_OVER_COUNTS_FROM_THE_NEWS) {
      from = machine.seen().read();
    }
    // As in the engine's StoreWait.
    boolean fresh = Validity.of(
            from, Nanos.of(grant.validFor()), from.nanos() + Nanos.FOREVER, from.nanos())
        .isFresh(machine.seen().read());
    if (options.isRenewed() && options.maxHold().isEmpty() && fresh) {
      schedule.saw(Seen.HANDED_OVER_BY_THE_STORE);
      arrives(grant, from, dice);
    }
  }

  private void arrives(@Nullable ModelGrant grant, ClockReading from, Dice dice) {
    if (grant == null) {
      throw new AssertionError("No grant");
    }
    schedule.saw(Seen.GRANT);
    ModelGrant told = grant;
    LockOptions promised = options;
    if (schedule.flaw() == Flaw.NO_MARGIN) {
      promised = options.withTtl(Duration.ofNanos(beforeMargin(ttlNanos)));
      told = new ModelGrant(
          grant.claim(),
          grant.number(),
          Duration.ofNanos(beforeMargin(Nanos.of(grant.validFor()))));
    }
    active = new ActiveGrant(told, promised, from, machine.seen(), this);
    isHandedOut = false;
    wasOver = false;
    long promisedNanos =
        options.isRenewed() ? Math.min(ttlNanos, Nanos.of(grant.validFor())) : ttlNanos;
    deadlineNanosMax = from.nanos() + promisedNanos - DriftAllowance.ofNanos(promisedNanos);
    settleArrival(dice);
  }

  /** As in the engine's Attempt. */
  private void settleArrival(Dice dice) {
    ActiveGrant grant = active;
    if (grant == null) {
      throw new AssertionError("None arrives");
    }
    switch (grant.arrival()) {
      case STANDS -> begin(grant, dice);
      case DOUBTED -> {
        schedule.saw(Seen.ARRIVED_IN_DOUBT);
        asking = Asking.VERIFYING;
        Request request = send(Kind.VERIFY, grant.grant().claim());
        request.active = grant;
        request.grant = (ModelGrant) grant.grant();
      }
      case LAPSED, LAPSED_AT_MAX_HOLD -> {
        schedule.saw(Seen.ARRIVED_LAPSED);
        Request unused = release(grant);
        endLeading();
      }
    }
  }

  private void begin(ActiveGrant grant, Dice dice) {
    Handle handle = queue.granted(leading(), grant);
    if (handle == null) {
      throw new AssertionError("The client is open");
    }
    int user = leader;
    leader = -1;
    asking = Asking.NOTHING;
    claim = null;
    isHandedOut = true;
    machine.keep(grant, dice.upTo(1_000_000_000));
    holds(user, handle);
    saw(options.isRenewed() ? null : Seen.FIXED);
    saw(options.maxHold().isPresent() ? Seen.CAPPED : null);
    saw(sessionNanos > 0 ? Seen.SESSION : null);
  }

  private void saw(@Nullable Seen seen) {
    if (seen != null) {
      schedule.saw(seen);
    }
  }

  private void holds(int user, Handle handle) {
    handles[user] = handle;
    long token = schedule.flaw() == Flaw.TOKEN_KEPT_AT_HAND_OFF
        ? Token.of(handle.hold().grant().grant().number(), 0)
        : handle.hold().token();
    schedule.holds(this, token);
  }

  private void endLeading() {
    asking = Asking.NOTHING;
    claim = null;
    leader = -1;
    queue.endLeading(leading(), false, null);
  }

  private Waiter leading() {
    return Objects.requireNonNull(leadersWaiter);
  }

  private void released(Request request, boolean yes) {
    Hold hold = request.hold;
    if (hold != null) {
      schedule.saw(Seen.RELEASED);
      if (yes) {
        hold.grant().endReleased();
      } else {
        hold.grant().endLost();
      }
      boolean unused = queue.endRelease(hold, null);
    }
  }

  /** It has no answer, and gives the request up. */
  void unanswered(Request request) {
    ActiveGrant grant = request.active;
    switch (request.kind) {
      case ACQUIRE, POLL -> {
        Request unused = send(Kind.WITHDRAW, request.claim);
        endLeading();
      }
      case RENEW, VERIFY -> {
        if (grant == null) {
          throw new AssertionError("About no grant");
        }
        if (asking == Asking.VERIFYING && grant == active) {
          Request unused = release(grant);
          endLeading();
        } else {
          grant.unanswered();
          schedule.saw(Seen.UNANSWERED);
        }
      }
      case RELEASE -> {
        if (grant != null) {
          Request again = release(grant);
          again.ttlNanos = request.ttlNanos;
        }
        released(request, true);
      }
      default -> {}
    }
  }

  // After each event

  /** Tells a loss, and each user what came of waiting. */
  void settle() {
    ActiveGrant gone = lost;
    if (gone != null) {
      lost = null;
      LossNotice notice = queue.holds().notice(gone);
      if (notice != null) {
        machine.forget(gone);
        gone.schedule().stop();
        free(gone);
        boolean unused = queue.holds().told(notice.hold());
      }
    }
    for (int user = 0; user < USERS; user++) {
      Waiter waiter = waiters[user];
      Waiter.News news = waiter == null ? null : waiter.news();
      if (news instanceof Waiter.YourTurn) {
        waiters[user] = null;
        lead(user, waiter);
      } else if (news instanceof Waiter.HandedOn handedOn) {
        waiters[user] = null;
        Handle handle = handedOn.handle();
        if (handle.isHeld() && queue.holds().take(handle)) {
          holds(user, handle);
        } else {
          handles[user] = handle;
          close(user);
        }
      } else if (news != null) {
        waiters[user] = null;
      }
    }
    if (active == null && leader < 0 && !machine.keepsOthers()) {
      machine.forgetTheUnsampled();
    }
  }

  boolean mayHold() {
    ActiveGrant grant = active;
    return grant != null && isHandedOut && !grant.state().isOver();
  }

  boolean hasOpenHandle() {
    return holder() >= 0;
  }

  boolean isQueued() {
    return asking == Asking.QUEUED;
  }

  int holder() {
    for (int user = 0; user < USERS; user++) {
      if (handles[user] != null) {
        return user;
      }
    }
    return -1;
  }

  boolean isAsking() {
    return asking == Asking.LOCK || asking == Asking.POLLING || asking == Asking.VERIFYING;
  }

  @Nullable
  ActiveGrant active() {
    return active;
  }

  /** Whether it would say so if it were asked now. Checks what must hold of its lease by itself. */
  boolean seemsToHold() {
    ActiveGrant grant = active;
    if (grant == null || !isHandedOut) {
      return false;
    }
    Validity validity = grant.state().validity();
    if (validity.deadlineNanos() - deadlineNanosMax > 0
        && schedule.checks(Rule.DEADLINE_FROM_BEFORE_THE_REQUEST)) {
      throw new Broken(
          Rule.DEADLINE_FROM_BEFORE_THE_REQUEST,
          this
              + "'s deadline is "
              + (validity.deadlineNanos() - deadlineNanosMax)
              + " ns later than any request can make it");
    }
    boolean stands = seemsToStand(grant);
    if (stands && wasOver) {
      throw new Broken(Rule.OVER_IS_OVER, this + "'s lease was over, and stands: " + grant.grant());
    }
    wasOver |= grant.state().isOver() || validity.isPast(machine.nanos());
    return stands;
  }

  /** Without marking what it finds. */
  private boolean seemsToStand(ActiveGrant grant) {
    GrantState state = grant.state();
    return !state.isOver()
        && state.phase() != Phase.SUSPECT
        && !state.validity().isPast(machine.nanos())
        && !state.validity().isOutrun(machine.wallAheadNanos());
  }

  String deadline() {
    ActiveGrant grant = active;
    if (grant == null) {
      return this + ": nothing";
    }
    Validity validity = grant.state().validity();
    return this
        + ": "
        + grant.state().phase()
        + ", "
        + Schedule.millis(validity.deadlineNanos() - machine.nanos())
        + " left, wall ahead of its least by "
        + Schedule.millis(machine.wallAheadNanos() - validity.wallAheadNanosMin());
  }

  // Told by grants

  @Override
  public void doubted(ActiveGrant grant) {
    schedule.saw(Seen.DOUBTED_BY_THE_WALL_CLOCK);
  }

  @Override
  public void doubtChanged(ActiveGrant grant, int doubts) {}

  @Override
  public void lost(ActiveGrant grant) {
    LeaseLoss.Reason reason = grant.state().lostBy();
    if (reason == LeaseLoss.Reason.EXPIRED) {
      schedule.saw(Seen.EXPIRED);
    } else if (reason == LeaseLoss.Reason.MAX_HOLD) {
      schedule.saw(Seen.AT_MAX_HOLD);
    }
    lost = grant;
  }

  @Override
  public void settle(ActiveGrant grant) {
    throw new AssertionError("Nobody submits it");
  }
}
