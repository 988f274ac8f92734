package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import java.time.Duration;
import okhttp3.OkHttpClient;

/** A way to an agent, for locks that others share. */
final class ClassicAccess extends ConsulAccess {
  ClassicAccess(String address) {
    super(address);
  }

  /** The delay is part of every crash's bound, and of the time that the kit waits for it. */
  static ConsulLocks.ClassicBuilder builder(OkHttpClient client, String address) {
    return ConsulLocks.classic(client, address).lockDelay(Duration.ofSeconds(1));
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return builder(client(), address());
  }
}
