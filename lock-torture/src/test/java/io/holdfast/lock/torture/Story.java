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
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** Evidence that is written by hand. Times are milliseconds. */
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

  /**
   * Adds an attempt, as in {@code worker 1, asked 5, granted 200 at 52, believed 53 to 70, closed
   * LOST 71 to 75}; what is left out did not happen. With {@code reading}, it shares the lock.
   */
  Story told(String attempt) {
    Map<String, String[]> said = new HashMap<>();
    for (String phrase : attempt.split(", ", -1)) {
      String[] words = phrase.split(" ", -1);
      said.put(words[0], words);
    }
    Answer answer = Stream.of(Answer.values())
        .filter(one -> said.containsKey(one.name().toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElse(Answer.NONE);
    String answered = answer.name().toLowerCase(Locale.ROOT);
    attempts.add(new Attempt(
        new Attempt.Id((int) number(said, "worker", 1), 0, attempts.size()),
        0,
        0,
        said.containsKey("reading") ? "lock read by thread" : "lock renewed by thread",
        false,
        number(said, "asked", 1) * MILLI,
        number(said, answered, answer == Answer.GRANTED ? 3 : 2) * MILLI,
        answer,
        answer == Answer.GRANTED ? number(said, answered, 1) : 0,
        number(said, "believed", 1) * MILLI,
        number(said, "believed", 3) * MILLI,
        0,
        number(said, "closed", 2) * MILLI,
        number(said, "closed", 4) * MILLI,
        Closing.valueOf(word(said, "closed", 1, "NONE")),
        Write.valueOf(word(said, "write", 1, "NONE")),
        Long.parseLong(word(said, "waiting", 1, "-1")),
        number(said, "keeping", 1),
        number(said, "stalled", 1) * MILLI,
        Nested.valueOf(word(said, "nested", 1, "NONE"))));
    return this;
  }

  private static long number(Map<String, String[]> said, String phrase, int index) {
    return Long.parseLong(word(said, phrase, index, "0"));
  }

  private static String word(
      Map<String, String[]> said, String phrase, int index, String otherwise) {
    return said.containsKey(phrase) ? said.get(phrase)[index] : otherwise;
  }

  Attempt attempt(int index) {
    return attempts.get(index);
  }

  /** Adds an entry, by the attempt with that number, to the store's log of name 0. */
  Story logged(int attempt, long token) {
    Attempt.Id id = attempts.get(attempt).id();
    written.computeIfAbsent(0, name -> new ArrayList<>()).add(new Written(id, token));
    return this;
  }

  Story broke(Fault fault, long from, long until) {
    faults.add(new Happened(fault, from * MILLI, until * MILLI));
    return this;
  }

  /** Adds a time in which servers could lose what they had confirmed. */
  Story unsettled(long from, long until) {
    unsettled.add(new Interval(from * MILLI, until * MILLI));
    return this;
  }

  /** Adds a jump of a server's wall clock. */
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
