package io.holdfast.lock.injection;

import io.holdfast.lock.LockListener;

/** A listener whose every method is a call out. */
final class HookedListener implements LockListener {
  private final CallsOut calls;

  HookedListener(CallsOut calls) {
    this.calls = calls;
  }

  @Override
  public void waiting(LockEvent event) {
    calls.at("LockListener.waiting");
  }

  @Override
  public void acquired(Acquired event) {
    calls.at("LockListener.acquired");
  }

  @Override
  public void notAcquired(NotAcquired event) {
    calls.at("LockListener.notAcquired");
  }

  @Override
  public void released(Released event) {
    calls.at("LockListener.released");
  }

  @Override
  public void uncertain(LeaseEvent event) {
    calls.at("LockListener.uncertain");
  }

  @Override
  public void confirmed(LeaseEvent event) {
    calls.at("LockListener.confirmed");
  }

  @Override
  public void renewed(LeaseEvent event) {
    calls.at("LockListener.renewed");
  }

  @Override
  public void lost(Lost event) {
    calls.at("LockListener.lost");
  }

  @Override
  public void leaked(LeaseEvent event) {
    calls.at("LockListener.leaked");
  }

  @Override
  public void waitsForItself(LockEvent event) {
    calls.at("LockListener.waitsForItself");
  }
}
