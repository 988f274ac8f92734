package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/** What the user has of an acquisition. Nothing in the engine refers to it. */
final class LeaseHandle implements Lease {
  private final EngineClient client;
  private final Handle handle;

  LeaseHandle(EngineClient client, Handle handle) {
    this.client = client;
    this.handle = handle;
  }

  Handle handle() {
    return handle;
  }

  EngineClient client() {
    return client;
  }

  @Override
  public String name() {
    return tenure().line().key().name();
  }

  @Override
  public long token() {
    return handle.hold().token();
  }

  @Override
  public LeaseState state() {
    return handle.state();
  }

  @Override
  public boolean isHeld() {
    return handle.isHeld();
  }

  @Override
  public void ensureHeld() {
    requireOpen();
    if (!handle.isHeld()) {
      throw lost();
    }
  }

  @Override
  public void verify() {
    requireOpen();
    if (!client.verify(tenure())) {
      throw lost();
    }
  }

  @Override
  public void extend(Duration ttl) {
    requireOpen();
    if (!client.extend(tenure(), ttl)) {
      throw lost();
    }
  }

  @Override
  public Duration remaining() {
    return handle.closed ? Duration.ZERO : tenure().remaining();
  }

  @Override
  public Duration crashBound() {
    return tenure().grant().crashBound();
  }

  @Override
  public void onLost(Consumer<? super LeaseLoss> listener) {
    client.onLost(handle, Objects.requireNonNull(listener));
  }

  @Override
  public Lease detach() {
    ensureHeld();
    tenure().line().detach(handle, Thread.currentThread());
    return this;
  }

  @Override
  public void close() {
    try {
      client.close(handle);
    } finally {
      // Until here it is not dropped.
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public String toString() {
    return "Lease[" + name() + ", token " + token() + ", " + state() + "]";
  }

  private Tenure tenure() {
    return handle.hold().tenure();
  }

  private void requireOpen() {
    if (handle.closed) {
      throw new IllegalStateException("The lease of lock '" + name() + "' was closed");
    }
  }

  private LockLostException lost() {
    // Closed by another thread meanwhile: that is no loss.
    requireOpen();
    LeaseLoss.Reason reason = tenure().standing().lostBy();
    return new LockLostException(
        name(), token(), reason == null ? LeaseLoss.Reason.EXPIRED : reason);
  }
}
