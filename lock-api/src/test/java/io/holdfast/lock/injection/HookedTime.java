package io.holdfast.lock.injection;

import io.holdfast.lock.simulation.SimulatedTime;
import io.holdfast.lock.spi.TimeSource;

/** Simulated clocks whose every reading is a call out. */
final class HookedTime implements TimeSource {
  private final CallsOut calls;
  private final SimulatedTime time;

  HookedTime(CallsOut calls, SimulatedTime time) {
    this.calls = calls;
    this.time = time;
  }

  @Override
  public long nanos() {
    calls.at("TimeSource.nanos");
    return time.nanos();
  }

  @Override
  public long wallMillis() {
    calls.at("TimeSource.wallMillis");
    return time.wallMillis();
  }

  @Override
  public void park(Object blocker, long nanos) {
    calls.at("TimeSource.park");
    time.park(blocker, nanos);
    calls.at("TimeSource.park, done");
  }
}
