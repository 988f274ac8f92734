package io.holdfast.lock.internal.queue;

import io.holdfast.lock.internal.queue.Waiter.News;
import org.jspecify.annotations.Nullable;

/**
 * The waiters of a queue in order of arrival, as a linked list whose nodes are the waiters, so that
 * nothing is allocated. Guarded by the queue's mutex, except that {@link #isEmpty} may be called
 * without it, as a hint.
 */
final class Waiters {
  private volatile @Nullable Waiter first;
  private @Nullable Waiter last;

  /** The number of waiters whose time is over. */
  private int overdue;

  @Nullable
  Waiter first() {
    return first;
  }

  boolean isEmpty() {
    return first == null;
  }

  void append(Waiter waiter) {
    Waiter before = last;
    waiter.previous = before;
    if (before == null) {
      first = waiter;
    } else {
      before.next = waiter;
    }
    last = waiter;
    waiter.queued = true;
  }

  /** Marks a waiter whose time is over; it stays until an answer comes. */
  void markOverdue(Waiter waiter) {
    if (!waiter.overdue) {
      waiter.overdue = true;
      overdue++;
    }
  }

  /** Removes a waiter; false if it was no longer in the queue. */
  boolean remove(Waiter waiter) {
    if (!waiter.queued) {
      return false;
    }
    Waiter before = waiter.previous;
    Waiter after = waiter.next;
    if (before == null) {
      first = after;
    } else {
      before.next = after;
    }
    if (after == null) {
      last = before;
    } else {
      after.previous = before;
    }
    waiter.previous = null;
    waiter.next = null;
    waiter.queued = false;
    if (waiter.overdue) {
      overdue--;
    }
    return true;
  }

  /**
   * Removes a waiter and gives it its news, without waking it; if this throws, it has done neither.
   */
  void give(Waiter waiter, News news) {
    if (remove(waiter)) {
      waiter.news = news;
    }
  }

  /** Removes a waiter, gives it its news, and wakes it. */
  void tell(Waiter waiter, News news) {
    give(waiter, news);
    waiter.wake();
  }

  /** Tells the waiters whose time is over that the lock is taken. */
  void tellOverdueTaken(@Nullable String holder) {
    if (overdue > 0) {
      tell(new Waiter.Taken(holder), false);
    }
  }

  /** Tells this news to all waiters, or to those whose time is over. */
  void tell(News news, boolean toAll) {
    Waiter next;
    for (Waiter waiter = first; waiter != null; waiter = next) {
      next = waiter.next;
      if (toAll || waiter.overdue) {
        tell(waiter, news);
      }
    }
  }
}
