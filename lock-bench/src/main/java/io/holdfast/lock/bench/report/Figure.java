package io.holdfast.lock.bench.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The figures of a round. */
public enum Figure {
  /**
   * Cycles of acquire and release per second; in scenarios that hold locks, locks taken per second.
   */
  RATE("cycles/s"),
  /**
   * The client's round trips per cycle, or per second if there are no cycles; see {@link Report}.
   */
  TRIPS("trips"),
  /** The median latency of a cycle, or of a hand-off. */
  P50_MICROS("p50 µs"),
  P99_MICROS("p99 µs"),
  P999_MICROS("p99.9 µs"),
  /** The longest latency, of all rounds and not of the median round. */
  MAX_MICROS("max µs"),
  /** The number of latencies that were measured. */
  SAMPLES("samples"),
  /**
   * Jain's fairness index of the threads' turns: 1 if all had equally many, 1/n if one had them
   * all.
   */
  FAIRNESS("fairness"),
  /** The server's commands per cycle, or per second if there are no cycles. */
  COMMANDS("commands"),
  /**
   * The server's CPU time: microseconds per cycle, or milliseconds per second if there are no
   * cycles.
   */
  SERVER_CPU("server CPU"),
  /** The CPU time of all of the candidate's JVMs, in the same units. */
  CLIENT_CPU("client CPU"),
  /**
   * The CPU time of the threads that a client has besides those that take locks, in milliseconds
   * per second.
   */
  OWN_CPU("own CPU"),
  /** The bytes allocated per cycle, or per second if there are no cycles. */
  ALLOCATED("allocated B"),
  /** The number of threads in one JVM besides those that take locks. */
  THREADS("threads"),
  /** The heap of one JVM, after a garbage collection. */
  HEAP_MEBIBYTES("heap MiB"),
  /** The time until all waiters had their turn. */
  DRAIN_MILLIS("drain ms"),
  /** The drain time per waiter: how fast the lock passes from one to the next. */
  TURN_MICROS("µs a turn");

  private final String title;

  Figure(String title) {
    this.title = title;
  }

  /** Rounds to four digits; more would be noise. */
  static double rounded(double value) {
    return BigDecimal.valueOf(value).round(new MathContext(4)).doubleValue();
  }

  String title() {
    return title;
  }

  /** Returns a figure's value as text; null if it was not measured. */
  static @Nullable String text(@Nullable Double value) {
    if (value == null) {
      return null;
    }
    return String.format(Locale.ROOT, value >= 100 ? "%,.0f" : "%.1f", value);
  }

  static @Nullable String ratio(@Nullable Double ratio) {
    return ratio == null ? null : String.format(Locale.ROOT, "%.2f", ratio);
  }
}
