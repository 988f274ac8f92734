package io.holdfast.lock.consul.store;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The long polls of a client's waiters, each on a state of a key. Consul does not notice that
 * nobody listens any more, and keeps the connection to the end of the wait. So a long poll is short
 * and never cancelled, who waits for the same state later listens to the one that is open, and
 * there are few of them. Thread-safe.
 */
final class LongPolls {
  /** The most that are open at once: an agent has 200 connections for one address by default. */
  private static final int OPEN_MAX = 16;

  /** A little less than a waiter's time between two looks, so that it looks once in both. */
  private static final Duration WAIT = LineCleanup.RECHECK_AFTER.minusSeconds(1);

  private final ConsulHttp http;

  /** Guarded by the monitor. */
  private final Map<Entry, CompletableFuture<ConsulHttp.News>> open = new HashMap<>();

  LongPolls(ConsulHttp http) {
    this.http = http;
  }

  /**
   * Waits for a key to change.
   *
   * @param entry the key as it is known
   * @return what is known at the end of the long poll, changed or not; null: too many are open
   */
  synchronized @Nullable CompletableFuture<ConsulHttp.News> change(Entry entry) {
    CompletableFuture<ConsulHttp.News> news = open.get(entry);
    if (news == null && open.size() < OPEN_MAX) {
      CompletableFuture<ConsulHttp.News> begun = new CompletableFuture<>();
      http.execute(() -> listen(entry, begun));
      open.put(entry, begun);
      return begun;
    }
    return news;
  }

  private void listen(Entry entry, CompletableFuture<ConsulHttp.News> news) {
    try {
      ConsulHttp.News heard = http.listen(http.longPoll(entry.key(), entry.modifyIndex(), WAIT));
      remove(entry);
      news.complete(heard);
    } catch (StoreException | RuntimeException | Error e) {
      remove(entry);
      news.completeExceptionally(e);
    }
  }

  /** Removes a long poll before its waiters are told, of whom one may begin the next. */
  private synchronized void remove(Entry entry) {
    open.remove(entry);
  }
}
