package io.holdfast.lock.internal;

import io.holdfast.lock.LockClient;

/** What tests in other packages may know of the inside of a client. */
public final class EngineProbe {
  private EngineProbe() {}

  /** The thread that keeps its leases. */
  public static Thread keeper(LockClient client) {
    return ((EngineClient) client).keeper().thread();
  }

  /** How many groups of leases are being renewed. */
  public static int renewing(LockClient client) {
    return ((EngineClient) client).keeper().renewing();
  }
}
