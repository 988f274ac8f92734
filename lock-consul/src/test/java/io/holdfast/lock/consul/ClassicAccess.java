package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import java.time.Duration;
import okhttp3.OkHttpClient;

/** A way to an agent, for locks that others share. */
final class ClassicAccess extends ConsulAccess {
  ClassicAccess(String address) {
    super(address);
  }

  /**
   * Without a delay, during which a lock is neither anybody's nor to be had: no rule is about it.
   */
  static ConsulLocks.ClassicBuilder builder(OkHttpClient client, String address) {
    return ConsulLocks.classic(client, address).lockDelay(Duration.ZERO);
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return builder(client(), address());
  }
}
