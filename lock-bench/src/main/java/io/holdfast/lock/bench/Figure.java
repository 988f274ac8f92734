package io.holdfast.lock.bench;

import java.math.BigDecimal;
import java.math.MathContext;

/** What is read off a round. */
enum Figure {
  /** Cycles of taking and giving back, a second; of the locks taken, where they are held. */
  RATE("cycles/s"),
  /** Of a cycle, or of a hand-off. */
  P50_MICROS("p50 µs"),
  P99_MICROS("p99 µs"),
  P999_MICROS("p99.9 µs"),
  /** The longest; of all rounds, not of the middle one. */
  MAX_MICROS("max µs"),
  /** How many latencies that was. */
  SAMPLES("samples"),
  /** Jain's index of the threads' turns: 1 if all had as many, 1/n if one had them all. */
  FAIRNESS("fairness"),
  /** At the server; for each cycle, or a second where there are none. */
  COMMANDS("commands"),
  /** Microseconds for each cycle; milliseconds a second where there are none. */
  SERVER_CPU("server CPU"),
  /** The same, of all of the candidate's JVMs. */
  CLIENT_CPU("client CPU"),
  /** Of the threads that a client keeps beside those that take locks; milliseconds a second. */
  OWN_CPU("own threads' CPU"),
  /** Bytes for each cycle; a second where there are none. */
  ALLOCATED("allocated B"),
  /** In one JVM, beside those that take locks. */
  THREADS("threads"),
  /** Of one JVM, garbage collected. */
  HEAP_MEBIBYTES("heap MiB"),
  /** Until all who waited had their turn. */
  DRAIN_MILLIS("drain ms"),
  /** The same for each of them: how fast the lock passes on. */
  TURN_MICROS("µs a turn");

  private final String title;

  Figure(String title) {
    this.title = title;
  }

  /** To four digits: more would be noise. */
  static double rounded(double value) {
    return BigDecimal.valueOf(value).round(new MathContext(4)).doubleValue();
  }

  String title() {
    return title;
  }
}
