package io.holdfast.lock.simulation;

import io.holdfast.lock.spi.TimeSource;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Clocks that do something of the test's in the calls of one thread: they stop it there, or throw
 * what a full heap or a deep stack would.
 */
public final class TappedTime implements TimeSource {
  private final TimeSource time;
  private final Map<Thread, Taps> taps = new ConcurrentHashMap<>();

  /** The calls of a clock. */
  public enum Call {
    NANOS,
    WALL_MILLIS,
    /** A thread is about to park. */
    PARK,
    /** A thread has parked. */
    PARKED
  }

  /** A place in a thread. */
  public interface Tap {
    /** Does what the test wants there; {@code nth} counts the calls of each sort from 1. */
    void at(Call call, int nth);
  }

  /** Owned by the thread that is tapped. */
  private record Taps(Tap tap, Map<Call, Integer> counts) {}

  /** Clocks that show what these show. */
  public TappedTime(TimeSource time) {
    this.time = time;
  }

  /** From now on this thread comes by here. */
  public void tap(Thread thread, Tap tap) {
    taps.put(thread, new Taps(tap, new EnumMap<>(Call.class)));
  }

  /** No more. */
  public void untap(Thread thread) {
    taps.remove(thread);
  }

  private void at(Call call) {
    Taps mine = taps.get(Thread.currentThread());
    if (mine != null) {
      mine.tap().at(call, mine.counts().merge(call, 1, Integer::sum));
    }
  }

  @Override
  public long nanos() {
    at(Call.NANOS);
    return time.nanos();
  }

  @Override
  public long wallMillis() {
    at(Call.WALL_MILLIS);
    return time.wallMillis();
  }

  @Override
  public void park(Object blocker, long nanos) {
    at(Call.PARK);
    time.park(blocker, nanos);
    at(Call.PARKED);
  }
}
