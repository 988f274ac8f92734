package io.holdfast.lock.consul.http;

import java.time.Duration;
import java.util.function.Consumer;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/** A long poll on one key for one waiter, which it wakes once the key has changed. Thread-safe. */
public class LongPoll implements ConsulHttp.Heard {
  /** The time after which a waiter reads the line even if its long poll has told it nothing. */
  public static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private static final Duration WAIT = Duration.ofMinutes(1);

  private final ConsulHttp http;
  private final Consumer<Runnable> later;
  private final Entry entry;
  private final Runnable wakeUp;
  private volatile boolean ended;
  private volatile @Nullable News news;
  private volatile @Nullable Call call;

  /**
   * The key after a change.
   *
   * @param entry null: it no longer exists
   */
  public record News(@Nullable Entry entry) {}

  /**
   * @param later runs a task a little later
   * @param entry the key as the waiter knows it
   * @param wakeUp wakes the waiter
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

  /** Whether it still waits for a change of this key since this state. */
  public boolean isOn(Entry other) {
    return !ended && entry.key().equals(other.key()) && entry.modifyIndex() == other.modifyIndex();
  }

  /** Returns the change; null: none so far. */
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
      // Not at once, or an agent that refuses would be asked again and again.
      later.accept(() -> {
        ended = true;
        wakeUp.run();
      });
    }
  }
}
