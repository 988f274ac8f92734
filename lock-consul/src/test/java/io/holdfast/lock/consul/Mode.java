package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import okhttp3.OkHttpClient;

/** The two kinds of locks that Consul can keep. */
enum Mode {
  OWN,
  CLASSIC;

  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(20);

  LockClientBuilder<?> builder(OkHttpClient users, String address, String prefix) {
    return this == OWN
        ? ConsulLocks.builder(users, address).prefix(prefix)
        : classic(users, address, prefix);
  }

  /** A store without an engine. */
  LockStore open(String address, String prefix) throws StoreException {
    return open(new OkHttpClient(), address, prefix);
  }

  LockStore open(OkHttpClient users, String address, String prefix) throws StoreException {
    StoreSettings settings =
        new StoreSettings("open", STORE_TIMEOUT, TimeSource.system(), new Unheard());
    return this == OWN
        ? ConsulLocks.builder(users, address).prefix(prefix).openStore(settings)
        : classic(users, address, prefix).openStore(settings);
  }

  private static ConsulLocks.ClassicBuilder classic(
      OkHttpClient users, String address, String prefix) {
    return ConsulLocks.classic(users, address).prefix(prefix).lockDelay(Duration.ZERO);
  }

  /** Tells nobody. */
  static final class Unheard implements StoreEvents {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  }
}
