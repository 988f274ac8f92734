package io.holdfast.lock.schedule;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.time.DriftAllowance;
import io.holdfast.lock.schedule.Request.Kind;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Two clients, one store, and what happens to them, step by step: all of it made from numbers, and
 * on one thread, so that a schedule can be repeated and shrunk.
 */
final class Schedule {
  private static final int IN_FLIGHT_MAX = 12;
  private static final long[] TTL_NANOS = {
    2_000_000_000L, 10_000_000_000L, 30_000_000_000L, 300_000_000_000L, 3_600_000_000_000L
  };

  /** By TTL: renewed, fixed, with a maximum hold, with a minimum hold. */
  private static final LockOptions[][] OPTIONS = new LockOptions[TTL_NANOS.length][4];

  static {
    for (int i = 0; i < TTL_NANOS.length; i++) {
      Duration ttl = Duration.ofNanos(TTL_NANOS[i]);
      OPTIONS[i][0] = LockOptions.renewed(ttl);
      OPTIONS[i][1] = LockOptions.fixed(ttl);
      OPTIONS[i][2] = OPTIONS[i][0].withMaxHold(ttl.plus(ttl.dividedBy(2)));
      OPTIONS[i][3] = OPTIONS[i][0].withMinHold(ttl.dividedBy(4));
    }
  }

  private final Flaw flaw;
  private final Counts counts;
  private final @Nullable StringBuilder trace;
  private final Dice dice = new Dice();

  private final long ttlNanos;
  private final boolean suspensions;
  private final boolean jumps;
  private final long sessionNanos;
  private final long toldNanosMax;
  private final long handedOverNanos;
  private final Client[] clients = new Client[2];
  private final ModelStore store;

  private @Nullable Request[] inFlight = new Request[IN_FLIGHT_MAX];
  private int inFlightCount;
  private int claims;
  private long requests;
  private long lastToken;
  private long worldNanos;
  private long lastAnsweredNumber;
  private int clientsThatHeld;

  /**
   * Before its first step.
   *
   * @param setting the number that the setting is made of
   * @param counts of what is {@link Seen}
   */
  Schedule(long setting, Flaw flaw, Counts counts, @Nullable StringBuilder trace) {
    this.flaw = flaw;
    this.counts = counts;
    this.trace = trace;
    Dice d = dice.of(setting);
    int ttl = d.below(TTL_NANOS.length);
    this.ttlNanos = TTL_NANOS[ttl];
    this.suspensions = flaw == Flaw.SUSPENSION_UNSEEN || d.below(3) > 0;
    this.jumps = flaw == Flaw.STORE_JUMPS_TOO_FAR || d.oneIn(2);
    boolean ratesDiffer = d.oneIn(3);
    this.sessionNanos = d.oneIn(4) ? ttlNanos / (2 + d.below(4)) : 0;
    this.toldNanosMax = d.oneIn(2) ? sessionNanos : sessionNanos / 2;
    this.handedOverNanos = sessionNanos == 0 && d.oneIn(3) ? Math.min(ttlNanos, 5_000_000_000L) : 0;
    int storePpm = ratesDiffer ? ratePpm(d) : 0;
    int ratesPpm = 1;
    int shape = d.below(8);
    for (int i = 0; i < 2; i++) {
      int ratePpm = ratesDiffer ? ratePpm(d) : 0;
      int wallPpm = ratesDiffer ? ratePpm(d) : 0;
      Machine machine = new Machine(
          flaw,
          d.oneIn(2) ? Long.MAX_VALUE - ttlNanos : d.next() >>> 8,
          ratePpm,
          wallPpm,
          d.oneIn(2));
      int kind = shape < 4 ? shape : d.below(4);
      clients[i] = new Client(this, i, machine, OPTIONS[ttl][kind], sessionNanos);
      int hidden = suspensions ? Math.max(0, ratePpm - wallPpm) : 0;
      ratesPpm = Math.max(ratesPpm, storePpm - ratePpm + hidden + 10);
    }
    this.store = new ModelStore(flaw, storePpm, ratesPpm, suspensions);
    if (trace != null) {
      say("TTL " + millis(ttlNanos) + ", sessions " + millis(sessionNanos) + " (told "
          + millis(toldNanosMax) + "), handed over for " + millis(handedOverNanos)
          + ", suspensions " + suspensions + ", jumps " + jumps + ", rates differ " + ratesDiffer
          + ", A: " + clients[0].options() + ", B: " + clients[1].options());
    }
  }

  private static int ratePpm(Dice d) {
    return switch (d.below(4)) {
      case 0 -> 1_000;
      case 1 -> -1_000;
      case 2 -> 0;
      default -> d.below(2_001) - 1_000;
    };
  }

  // For the clients

  Flaw flaw() {
    return flaw;
  }

  boolean checks(Rule rule) {
    return flaw == Flaw.NONE || flaw.broken() == rule;
  }

  int nextClaim() {
    return claims++;
  }

  long nextRequest() {
    return ++requests;
  }

  void saw(Seen seen) {
    counts.add(seen);
  }

  boolean isTraced() {
    return trace != null;
  }

  void say(String what) {
    if (trace != null) {
      trace.append(String.format(Locale.ROOT, "%14s  %s%n", millis(worldNanos), what));
    }
  }

  static String millis(long nanos) {
    return String.format(Locale.ROOT, "%,.3f ms", nanos / 1e6);
  }

  void send(Request request) {
    if (inFlightCount == inFlight.length) {
      inFlight = Arrays.copyOf(inFlight, 2 * inFlightCount);
    }
    inFlight[inFlightCount++] = request;
    if (trace != null) {
      say(request + " is sent");
    }
  }

  /** A client's user holds the lock from now on. */
  void holds(Client client, long token) {
    if (trace != null) {
      say(client + " holds with token " + token + " (" + (token >>> 10) + "." + (token & 1023)
          + ")");
    }
    if (token <= lastToken && checks(Rule.TOKENS_RISE)) {
      throw new Broken(
          Rule.TOKENS_RISE, client + " holds with token " + token + " after " + lastToken);
    }
    lastToken = Math.max(lastToken, token);
    clientsThatHeld |= 1 << client.index();
    if (clients[1 - client.index()].hasOpenHandle()) {
      saw(Seen.TAKEN_OVER_FROM_ONE_WHO_HAD_NOT_LET_GO);
    }
  }

  // Steps

  /** Makes one step. */
  void step(long number) {
    Dice d = dice.of(number);
    Client client = clients[d.below(2)];
    boolean awake = !client.machine().isSuspended();
    int what = d.below(64);
    if (what < 8) {
      pass(d.upTo(ttlNanos / 16));
    } else if (what < 10) {
      pass(d.partOf(ttlNanos));
    } else if (what < 11) {
      passTo(store.takenForNanos(sessionNanos), d);
    } else if (what < 15) {
      takeOver(clients[1 - store.ownerIndex()], d);
    } else if (what < 17) {
      passToDeadline(client, d);
    } else if (what < 20) {
      handOver(d);
    } else if (what < 22) {
      handOn(client, d);
    } else if (what < 26) {
      if (awake) {
        client.want(d.below(Client.USERS));
        if (d.below(4) > 0) {
          quick(newest(), d);
        }
      }
    } else if (what < 32) {
      if (awake) {
        Request request = client.askAboutLease(d);
        if (d.below(3) > 0) {
          quick(request, d);
        }
      }
    } else if (what < 34) {
      if (awake) {
        quick(client.poll(), d);
      }
    } else if (what < 38) {
      quick(any(d), d);
    } else if (what < 41) {
      carryOut(any(d));
    } else if (what < 44) {
      answer(any(d), d);
    } else if (what < 45) {
      giveUp(any(d));
    } else if (what < 50) {
      if (awake) {
        client.close(d.below(Client.USERS));
        if (d.oneIn(2)) {
          quick(newest(), d);
        }
      }
    } else if (what < 52) {
      if (awake) {
        client.look();
      }
    } else if (what < 55) {
      setBack(client, d);
    } else if (what < 56) {
      setForward(client, d);
    } else if (what < 59) {
      askLate(client, d);
    } else if (what < 62) {
      sleep(client, d);
    } else {
      jump(d);
    }
    settle();
    check();
    while (inFlightCount > IN_FLIGHT_MAX) {
      lose(request(0));
    }
  }

  /** After the last step. */
  void end() {
    if (clientsThatHeld == 3) {
      saw(Seen.BOTH_CLIENTS_HELD);
    }
  }

  private void settle() {
    clients[0].settle();
    clients[1].settle();
  }

  private void check() {
    boolean a = clients[0].seemsToHold();
    boolean b = clients[1].seemsToHold();
    if (a && b && checks(Rule.ONE_HOLDER)) {
      ActiveGrant first = clients[0].active();
      ActiveGrant second = clients[1].active();
      boolean really = first != null && first.stands() && second != null && second.stands();
      throw new Broken(
          really ? Rule.ONE_HOLDER : Rule.LOOKS_AGREE,
          "two hold: " + clients[0].deadline() + "; " + clients[1].deadline());
    }
  }

  // Time

  private void pass(long nanos) {
    if (trace != null && nanos > 0) {
      say("-- " + millis(nanos) + " pass");
    }
    long left = nanos;
    while (left > 0) {
      long next = Math.min(
          left,
          Math.min(
              clients[0].machine().worldNanosToSample(),
              clients[1].machine().worldNanosToSample()));
      worldNanos += next;
      store.pass(next);
      clients[0].machine().pass(next);
      clients[1].machine().pass(next);
      left -= next;
      sample(clients[0]);
      sample(clients[1]);
    }
  }

  private void sample(Client client) {
    if (client.machine().isSampleDue()) {
      boolean setBack = client.machine().sample();
      if (setBack) {
        saw(Seen.SET_BACK_SAMPLED_WHILE_HELD);
      }
      if (trace != null) {
        say(client + "'s keeper samples its clocks" + (setBack ? ": set back" : ""));
      }
    }
  }

  /** To about that moment; rather a little before or after than much. */
  private void passTo(long nanos, Dice d) {
    long off = d.upTo(ttlNanos / 16);
    long to = nanos + (d.oneIn(2) ? off : -off);
    if (to > 0 && to < 2 * ttlNanos) {
      pass(to);
    }
  }

  /** The holder asks shortly before its deadline, and then lets the time pass. */
  private void askLate(Client client, Dice d) {
    ActiveGrant grant = client.active();
    if (!client.mayHold() || grant == null || client.machine().isSuspended()) {
      return;
    }
    long left = grant.state().validity().deadlineNanos() - client.machine().nanos();
    if (left > 0) {
      pass(left - d.upTo(left));
      quick(client.askAboutLease(d), d);
      jump(d);
      takeOver(clients[1 - client.index()], d);
    }
  }

  /** The other client asks as soon as the lock is free. */
  private void takeOver(Client other, Dice d) {
    long nanos = store.takenForNanos(sessionNanos);
    if (nanos <= 0 || nanos > 2 * ttlNanos) {
      return;
    }
    pass(nanos + nanos / 900 + d.upTo(ttlNanos / 256));
    settle();
    check();
    if (!other.machine().isSuspended()) {
      other.want(d.below(Client.USERS));
      quick(newest(), d);
    }
  }

  private void passToDeadline(Client client, Dice d) {
    ActiveGrant grant = client.active();
    if (grant != null && !grant.state().isOver()) {
      passTo(grant.state().validity().deadlineNanos() - client.machine().nanos(), d);
    }
  }

  // Requests

  private Request request(int i) {
    Request request = inFlight[i];
    if (request == null) {
      throw new AssertionError("None in flight");
    }
    return request;
  }

  private @Nullable Request any(Dice d) {
    return inFlightCount == 0 ? null : request(d.below(inFlightCount));
  }

  private @Nullable Request newest() {
    return inFlightCount == 0 ? null : request(inFlightCount - 1);
  }

  private void remove(Request request) {
    for (int i = 0; i < inFlightCount; i++) {
      if (inFlight[i] == request) {
        System.arraycopy(inFlight, i + 1, inFlight, i, inFlightCount - i - 1);
        inFlight[--inFlightCount] = null;
        return;
      }
    }
  }

  /** Carried out and answered, each after a while. */
  private void quick(@Nullable Request request, Dice d) {
    if (request == null) {
      return;
    }
    if (!request.carriedOut) {
      onTheWay(request, d);
      carryOut(request);
      settle();
      check();
    }
    if (!request.ended) {
      onTheWay(request, d);
      answer(request, d);
      settle();
      check();
    }
  }

  private void onTheWay(Request request, Dice d) {
    switch (d.below(16)) {
      case 0 -> pass(d.upTo(ttlNanos / 4));
      case 1 -> sleep(request.client, d);
      case 2 -> passToDeadline(request.client, d);
      default -> pass(d.upTo(ttlNanos / 512));
    }
    settle();
    check();
  }

  private void carryOut(@Nullable Request request) {
    if (request == null || request.carriedOut) {
      return;
    }
    request.carriedOut = true;
    int next = store.carryOut(request, sessionNanos, toldNanosMax, handedOverNanos);
    if (trace != null) {
      say(request + " is carried out" + (request.ended ? ", late" : "") + ": " + request.answer
          + (request.validForNanos > 0 ? ", for " + millis(request.validForNanos) : ""));
    }
    if (request.ended) {
      saw(Seen.CARRIED_OUT_LATE);
      remove(request);
    }
    if (next >= 0) {
      handOver(clients[next]);
    }
  }

  /** One user of a client lets go soon, and another waits. */
  private void handOn(Client client, Dice d) {
    Machine machine = client.machine();
    int user = d.below(Client.USERS);
    if (!machine.isSuspended() && client.holder() < 0) {
      client.want(user);
      quick(newest(), d);
    }
    if (!machine.isSuspended() && client.holder() >= 0) {
      client.want((client.holder() + 1) % Client.USERS);
      pass(d.upTo(10_000_000));
      client.close(client.holder());
    }
  }

  /** One client lets go, and the other waits at the store. */
  private void handOver(Dice d) {
    Client client = clients[store.ownerIndex()];
    Client other = clients[1 - store.ownerIndex()];
    if (client.machine().isSuspended() || other.machine().isSuspended() || client.holder() < 0) {
      return;
    }
    if (!other.isQueued()) {
      other.want(d.below(Client.USERS));
      quick(newest(), d);
    } else {
      quick(other.poll(), d);
    }
    if (other.isQueued() && !client.machine().isSuspended() && client.holder() >= 0) {
      pass(d.upTo(ttlNanos / 64));
      client.close(client.holder());
      settle();
      Request release = newest();
      if (release != null && !release.carriedOut) {
        pass(d.upTo(ttlNanos / 512));
        carryOut(release);
        if (d.oneIn(3)) {
          pass(d.partOf(handedOverNanos / 2));
        }
        quick(newest(), d);
        if (d.oneIn(3)) {
          takeOver(client, d);
        }
        answer(release, d);
      }
    }
  }

  private void handOver(Client client) {
    ModelGrant grant = store.handOver(client.index(), handedOverNanos);
    Request news = client.news(grant);
    news.carriedOut = true;
    news.grant = grant;
    news.lastQuestion = store.lastQuestion(client.index());
    send(news);
  }

  private void answer(@Nullable Request request, Dice d) {
    if (request == null
        || !request.carriedOut
        || request.ended
        || request.client.machine().isSuspended()) {
      return;
    }
    remove(request);
    request.ended = true;
    if (trace != null) {
      say(request + " is answered: " + request.answer);
    }
    if (request.sentNumber < lastAnsweredNumber) {
      saw(Seen.ANSWERS_REORDERED);
    }
    lastAnsweredNumber = Math.max(lastAnsweredNumber, request.sentNumber);
    ActiveGrant about = request.active;
    if (about != null && about.state().isOver() && request.kind != Kind.RELEASE) {
      saw(Seen.ANSWERED_AFTER_THE_END);
    }
    request.client.answered(request, d);
  }

  /** It never gets there, or its answer does not. */
  private void lose(Request request) {
    remove(request);
    if (!request.ended) {
      request.ended = true;
      boolean matters = switch (request.kind) {
        case NEWS, WITHDRAW -> false;
        case RELEASE -> request.hold != null;
        default -> true;
      };
      if (matters) {
        request.client.unanswered(request);
      }
    }
  }

  /** The client has no answer in time; a request that was not carried out may be so yet. */
  private void giveUp(@Nullable Request request) {
    if (request == null || request.client.machine().isSuspended()) {
      return;
    }
    if (request.ended) {
      // Given up before: it never gets there.
      remove(request);
      saw(Seen.REQUEST_LOST);
      return;
    }
    request.ended = true;
    if (trace != null) {
      say(request + " is given up");
    }
    if (request.carriedOut) {
      remove(request);
      saw(Seen.ANSWER_LOST);
    }
    if (request.kind != Kind.NEWS) {
      request.client.unanswered(request);
    }
  }

  // Clocks

  private long step(Dice d) {
    return 5_000_000 + (d.oneIn(2) ? d.upTo(ttlNanos / 2) : d.partOf(ttlNanos / 2));
  }

  private void setBack(Client client, Dice d) {
    boolean matters = client.isAsking() || client.mayHold();
    if (!matters && d.below(8) > 0) {
      return;
    }
    passToSample(client, d);
    Machine machine = client.machine();
    if (machine.maySetBack()) {
      long by = d.oneIn(4) ? 5_000_000 + machine.lastSuspensionNanos() : step(d);
      saw(Seen.WALL_CLOCK_SET_BACK);
      machine.setWallClock(-by, d.partOf(1_000_000_000));
      if (trace != null) {
        say(client + "'s wall clock is set back by " + millis(by));
      }
      if (d.oneIn(2)) {
        sleep(client, d);
      }
    }
  }

  private void setForward(Client client, Dice d) {
    if (!client.machine().isSuspended()) {
      long by = step(d);
      saw(Seen.WALL_CLOCK_SET_FORWARD);
      client.machine().setWallClock(by, d.partOf(1_000_000_000));
      if (trace != null) {
        say(client + "'s wall clock is set forward by " + millis(by));
      }
    }
  }

  private void sleep(Client client, Dice d) {
    Machine machine = client.machine();
    if (machine.isSuspended()) {
      wakeUp(client, d);
      return;
    }
    boolean matters = client.isAsking() || client.mayHold();
    if (!suspensions || (!matters && d.below(8) > 0)) {
      return;
    }
    passToSample(client, d);
    if (!machine.maySuspend()) {
      return;
    }
    machine.suspend();
    if (trace != null) {
      say(client + "'s machine is suspended");
    }
    if (client.mayHold()) {
      saw(Seen.SUSPENDED_WHILE_HELD);
    }
    if (client.isAsking()) {
      saw(Seen.SUSPENDED_DURING_A_REQUEST);
    }
    if (d.oneIn(6)) {
      return;
    }
    long half = DriftAllowance.ofNanos(ttlNanos) / 2;
    switch (machine.wasJustSetBack() ? 2 : d.below(6)) {
      case 0, 1 -> {
        saw(Seen.SUSPENDED_LESS_THAN_SHOWS);
        pass(half - d.upTo(half));
      }
      case 2 -> {
        saw(Seen.SUSPENDED_AFTER_A_SET_BACK);
        pass(machine.takeLastSetBackNanos());
      }
      case 3 -> takeOver(clients[1 - client.index()], d);
      case 4 -> pass(half + d.upTo(2 * half));
      default -> pass(d.upTo(2 * ttlNanos));
    }
    settle();
    check();
    if (machine.isSuspended()) {
      wakeUp(client, d);
      if (d.oneIn(3)) {
        client.look();
        quick(client.askAboutLease(d), d);
      }
      if (d.oneIn(2)) {
        takeOver(clients[1 - client.index()], d);
      }
    }
  }

  private void wakeUp(Client client, Dice d) {
    client.machine().resume(d.partOf(1_000_000_000));
    if (trace != null) {
      say(client + "'s machine wakes up");
    }
  }

  /** Until the keeper has seen what the clocks did, if it will. */
  private void passToSample(Client client, Dice d) {
    long nanos = client.machine().worldNanosToSample();
    if (nanos < Long.MAX_VALUE && d.below(4) > 0) {
      pass(nanos + 1);
    }
  }

  private void jump(Dice d) {
    long max = jumps ? store.jumpNanosMax() : 0;
    if (max > 0) {
      long by = d.oneIn(2) ? max : d.partOf(max);
      saw(Seen.STORE_JUMPED);
      store.jump(by);
      if (trace != null) {
        say("The store's clock jumps ahead by " + millis(by));
      }
    }
  }

  @Override
  public String toString() {
    return "Schedule" + Arrays.toString(clients);
  }
}
