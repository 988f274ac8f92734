package io.holdfast.lock.consul.http;

import java.time.Duration;
import java.util.function.Consumer;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/**
 * One question to Consul on behalf of a waiter: tell me when this key has changed. The answer wakes
 * the waiter. Thread-safe.
 */
public class LongPoll implements ConsulHttp.Heard {
  /** The time after which a waiter asks by itself, in case that the long poll came to grief. */
  public static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private static final Duration WAIT = Duration.ofMinutes(1);

  private final ConsulHttp http;
  private final Consumer<Runnable> later;
  private final Entry entry;
  private final Runnable wakeUp;
  private volatile boolean ended;
  private volatile @Nullable News news;
  private volatile @Nullable Call call;

  /** The state of the key after a change; null: it is gone. */
  public record News(@Nullable Entry entry) {}

  /**
   * @param later runs something after a while
   * @param entry the key as it is
   */
  public LongPoll(ConsulHttp http, Consumer<Runnable> later, Entry entry, Runnable wakeUp) {
    this.http = http;
    this.later = later;
    this.entry = entry;
    this.wakeUp = wakeUp;
  }

  public void start() {
    call = http.watch(entry.key(), entry.modifyIndex(), WAIT, this);
  }

  /** Whether it would tell if that key were no longer as it is here. */
  public boolean isOn(Entry other) {
    return !ended && entry.key().equals(other.key()) && entry.modifyIndex() == other.modifyIndex();
  }

  /** Returns what it told; null: nothing. */
  @Nullable
  public News news() {
    return news;
  }

  public void stop() {
    ended = true;
    Call asked = call;
    if (asked != null) {
      asked.cancel();
    }
  }

  @Override
  public void answered(@Nullable Entry now, long index) {
    news = new News(now);
    ended = true;
    wakeUp.run();
  }

  @Override
  public void failed(String why) {
    if (!ended) {
      // Not at once: an agent that refuses would be asked without end.
      later.accept(() -> {
        ended = true;
        wakeUp.run();
      });
    }
  }
}
