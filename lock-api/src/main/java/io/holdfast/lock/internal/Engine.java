package io.holdfast.lock.internal;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Placeholder: being written. */
public final class Engine {
  private Engine() {}

  public record Settings(
      String clientName,
      LockOptions defaultOptions,
      Duration storeTimeout,
      List<LockListener> listeners,
      @Nullable Executor callbackExecutor,
      boolean localHandOff,
      TimeSource time) {}

  public interface StoreOpener {
    LockStore open(StoreSettings settings) throws StoreException;
  }

  public static String hostName() {
    return "localhost";
  }

  public static LockClient start(Settings settings, StoreOpener opener) {
    throw new UnsupportedOperationException("being written");
  }
}
