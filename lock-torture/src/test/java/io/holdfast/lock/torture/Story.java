package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Answer;
import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Evidence.Happened;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A record of what workers saw, written by hand. Times are milliseconds. */
final class Story {
  private static final long MILLI = 1_000_000;

  private final StoreKind store;
  private final List<Attempt> attempts = new ArrayList<>();
  private final Map<Integer, List<Written>> written = new HashMap<>();
  private final List<Happened> faults = new ArrayList<>();
  private final List<Interval> unsettled = new ArrayList<>();
  private final List<Interval> jumpsAhead = new ArrayList<>();

  private Story(StoreKind store) {
    this.store = store;
  }

  static Story on(StoreKind store) {
    return new Story(store);
  }

  /** One attempt; what is not said did not happen. */
  final class Told {
    private final int worker;
    private final int index = attempts.size();
    private long asked;
    private long answered;
    private Answer answer = Answer.NONE;
    private long token;
    private long from;
    private long until;
    private long closeBegan;
    private long closed;
    private Closing closing = Closing.NONE;
    private Write write = Write.NONE;
    private long maxWait = -1;
    private long minHold;
    private long stalled;
    private Nested nested = Nested.NONE;

    private Told(int worker) {
      this.worker = worker;
    }

    Told asked(long at) {
      asked = at;
      return this;
    }

    Told got(long withToken, long at) {
      answer = Answer.GRANTED;
      token = withToken;
      answered = at;
      return this;
    }

    Told threw(long at) {
      answer = Answer.UNDOCUMENTED;
      answered = at;
      return this;
    }

    Told believed(long first, long last) {
      from = first;
      until = last;
      return this;
    }

    Told closed(Closing how, long began, long ended) {
      closing = how;
      closeBegan = began;
      closed = ended;
      return this;
    }

    /** As long as it may wait. */
    Told waiting(long most) {
      maxWait = most;
      return this;
    }

    Told keeping(long least) {
      minHold = least;
      return this;
    }

    Told stalled(long nothingRan) {
      stalled = nothingRan;
      return this;
    }

    Told taken(long at) {
      answer = Answer.TAKEN;
      answered = at;
      return this;
    }

    Told askedAgain(Nested how) {
      nested = how;
      return this;
    }

    Told wrote(Write how) {
      write = how;
      return this;
    }

    Story told() {
      attempts.add(new Attempt(
          new Attempt.Id(worker, 0, index),
          0,
          0,
          "lock renewed by thread",
          false,
          asked * MILLI,
          answered * MILLI,
          answer,
          token,
          from * MILLI,
          until * MILLI,
          0,
          closeBegan * MILLI,
          closed * MILLI,
          closing,
          write,
          maxWait,
          minHold,
          stalled * MILLI,
          nested));
      return Story.this;
    }
  }

  Told worker(int worker) {
    return new Told(worker);
  }

  Attempt attempt(int index) {
    return attempts.get(index);
  }

  /** The store's log of name 0 has this next, by the attempt with that number. */
  Story logged(int attempt, long token) {
    Attempt.Id id = attempts.get(attempt).id();
    written.computeIfAbsent(0, name -> new ArrayList<>()).add(new Written(id, token));
    return this;
  }

  Story broke(Fault fault, long from, long until) {
    faults.add(new Happened(fault, from * MILLI, until * MILLI));
    return this;
  }

  /** Servers could lose what they had confirmed. */
  Story unsettled(long from, long until) {
    unsettled.add(new Interval(from * MILLI, until * MILLI));
    return this;
  }

  /** The wall clock of a server jumped. */
  Story jumpedAhead(long from, long until) {
    jumpsAhead.add(new Interval(from * MILLI, until * MILLI));
    return this;
  }

  List<Finding> judged() {
    return Judge.judge(evidence());
  }

  Evidence evidence() {
    return new Evidence(
        store, 0, List.copyOf(attempts), written, faults, unsettled, jumpsAhead, List.of());
  }
}
