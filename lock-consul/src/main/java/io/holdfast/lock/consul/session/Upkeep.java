package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * The renewals of one session, and the long polls on its own key, one after the other. They tell at
 * once what the next renewal would tell later: that the session has ended, or that one of its locks
 * was released by force. Thread-safe.
 */
final class Upkeep {
  private static final long WAIT_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final StoreSettings settings;
  private final Session session;
  private final TaskQueue<Session> renewals;
  private final TaskQueue<Session> longPolls;

  // Used by one long poll at a time, like the next.
  /** The last known index of the session's own key; zero: unknown, and Consul answers at once. */
  private long index;

  /** The index of the session's own key at the last check for forced releases. */
  private long checkedIndex;

  /** @param index the index at which the session's own key was created */
  Upkeep(
      ConsulHttp http,
      Keys keys,
      Sessions sessions,
      StoreSettings settings,
      Session session,
      long index) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.settings = settings;
    this.session = session;
    this.index = index;
    this.checkedIndex = index;
    renewals = new TaskQueue<>(settings.time(), 1, unused -> renew());
    longPolls = new TaskQueue<>(settings.time(), 1, unused -> listen());
    longPolls.add(session, settings.time().nanos());
  }

  /** Begins what is due. */
  void tend(long nowNanos) {
    if (session.isRenewalDue(nowNanos)) {
      renewals.add(session, nowNanos);
    }
    renewals.begin(http::execute);
    longPolls.begin(http::execute);
  }

  private void renew() throws StoreException {
    boolean unused = sessions.renew(session, http.deadline());
  }

  /**
   * Polls for as long as the session is in use. The end of the session releases its key, and a
   * forced release of one of its locks writes to it.
   */
  private void listen() throws StoreException {
    Duration wait = Duration.ofNanos(Math.min(session.ttlNanos(), WAIT_NANOS_MAX));
    try {
      while (sessions.isInUse(session)) {
        if (index > 0) {
          // If the connection dies silently, that goes unnoticed for this long.
          session.watchedUntil(
              settings.time().nanos() + wait.plus(settings.storeTimeout()).toNanos());
        }
        heard(http.listen(http.longPoll(keys.session(session.id()), index, wait)));
      }
    } finally {
      index = 0;
      unwatched();
    }
  }

  /**
   * Puts the leases of the session in doubt, since its end would go unnoticed. The next renewal
   * ends the doubt.
   */
  private void unwatched() {
    long nowNanos = settings.time().nanos();
    boolean before = session.isWatched(nowNanos);
    session.watchedUntil(nowNanos);
    if (before && sessions.isInUse(session)) {
      for (Attempt attempt : session.attempts()) {
        ConsulGrant grant = attempt.grant();
        if (grant != null) {
          settings.events().suspended(grant);
        }
      }
    }
  }

  /** Acts on the state of the session's own key. */
  private void heard(ConsulHttp.News news) throws StoreException {
    Entry entry = news.entry();
    if (entry == null || !entry.session().equals(session.id())) {
      gone(entry == null ? news.index() : entry.session().isEmpty() ? entry.modifyIndex() : 0);
      return;
    }
    checkForForce(entry.modifyIndex());
    if (news.index() < index) {
      throw StoreException.refused("The index went backwards", null);
    }
    index = news.index();
  }

  /** @param goneIndex the index since which the session does not have its own key; zero: unknown */
  private void gone(long goneIndex) throws StoreException {
    if (goneIndex > checkedIndex) {
      // The key existed before that index, so the session has ended. The server is not asked: it
      // may be leaving the cluster, and answer no more.
      sessions.lost(session);
    } else if (sessions.renew(session, http.deadline())) {
      // The server may lag, or have lost its data. The leader knows.
      throw StoreException.refused("The session's key is gone", null);
    }
  }

  /**
   * Checks the keys of the session's holders if its own key was written to since the last check.
   */
  private void checkForForce(long writtenIndex) throws StoreException {
    if (writtenIndex == checkedIndex) {
      return;
    }
    session.beginLook();
    List<ConsulGrant> held =
        session.attempts().stream().map(Attempt::grant).filter(Objects::nonNull).toList();
    for (ConsulGrant grant : sessions.taken(held, http.deadline())) {
      settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
    }
    checkedIndex = writtenIndex;
  }
}
