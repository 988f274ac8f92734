package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import okhttp3.OkHttpClient;

/** A store without an engine that tells its events to nobody. */
final class PlainStore {
  static final StoreEvents UNHEARD = new StoreEvents() {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  };

  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(20);

  private PlainStore() {}

  static LockStore open(String address, String prefix) throws StoreException {
    return open(new OkHttpClient(), address, prefix);
  }

  static LockStore open(OkHttpClient users, String address, String prefix) throws StoreException {
    return ConsulLocks.builder(users, address)
        .prefix(prefix)
        .openStore(new StoreSettings("open", STORE_TIMEOUT, TimeSource.system(), UNHEARD));
  }
}
