package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The long polls on the sessions' own keys, one for each session. They tell at once what the next
 * renewal would tell later: that the session has ended, or that one of its locks was released by
 * force. Thread-safe.
 */
public final class Watches {
  private static final Logger log = LoggerFactory.getLogger(Watches.class);

  private static final long WAIT_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);

  /** The longest time between a failed long poll and the next. */
  private static final long NEXT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final StoreSettings settings;
  private final TimeSource time;

  Watches(ConsulHttp http, Keys keys, Sessions sessions, StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.settings = settings;
    this.time = settings.time();
  }

  /** Begins a long poll if the latest is overdue, as happens if a thread or memory was missing. */
  void tend(Session session, long nowNanos) {
    if (session.hasNoWatch(nowNanos)) {
      unwatched(session);
      begin(session, 0);
    }
  }

  /**
   * Begins a long poll on the session's own key. The end of the session releases the key, and a
   * forced release of one of its locks writes to it.
   *
   * @param index the key's last known index; zero: unknown, and Consul answers at once
   */
  void begin(Session session, long index) {
    if (!sessions.isInUse(session)) {
      return;
    }
    Duration wait = Duration.ofNanos(Math.min(session.ttlNanos(), WAIT_NANOS_MAX));
    if (index > 0) {
      // If the connection dies silently, that goes unnoticed for this long.
      session.watchedUntil(
          time.nanos() + wait.toNanos() + settings.storeTimeout().toNanos());
    }
    int which = session.beginWatch(time.nanos() + http.longPollMax(wait).toNanos() + NEXT_NANOS);
    boolean begun = false;
    try {
      var unused =
          http.watch(keys.session(session.id()), index, wait, new Watch(session, index, which));
      begun = true;
    } finally {
      if (!begun) {
        session.watchEnds(time.nanos());
      }
    }
  }

  /** The receiver of the answer to one long poll. It begins the next. */
  private final class Watch implements ConsulHttp.Heard {
    private final Session session;
    private final long index;
    private final int which;

    Watch(Session session, long index, int which) {
      this.session = session;
      this.index = index;
      this.which = which;
    }

    @Override
    public void answered(@Nullable Entry entry, long nextIndex) {
      boolean goesOn = false;
      try {
        goesOn = noticed(session, entry, nextIndex);
      } finally {
        if (!goesOn || nextIndex < index) {
          failed("The session's key is gone");
        } else if (session.isWatch(which)) {
          begin(session, nextIndex);
        }
      }
    }

    @Override
    public void failed(String why) {
      if (session.isWatch(which)) {
        // If the next one does not begin by then, tend() begins it.
        session.watchEnds(time.nanos() + NEXT_NANOS);
        unwatched(session);
        sessions.ticker().later(() -> begin(session, 0));
      }
    }
  }

  /**
   * Puts the leases of a session in doubt, since its end would go unnoticed. The next renewal ends
   * the doubt.
   */
  private void unwatched(Session session) {
    boolean before = session.isWatched(time.nanos());
    session.watchedUntil(time.nanos());
    if (before && sessions.isInUse(session)) {
      for (Attempt attempt : session.attempts()) {
        ConsulGrant grant = attempt.grant();
        if (grant != null) {
          settings.events().suspended(grant);
        }
      }
    }
  }

  /**
   * Acts on the state of a session's own key.
   *
   * @return whether the session still has it, so that the next long poll can begin where this one
   *     ended
   */
  private boolean noticed(Session session, @Nullable Entry entry, long index) {
    try {
      if (entry == null || !entry.session().equals(session.id())) {
        long goneIndex =
            entry == null ? index : entry.session().isEmpty() ? entry.modifyIndex() : 0;
        if (goneIndex > session.noteIndex()) {
          // The key existed before that index, so the session has ended. The server is not asked:
          // it may be leaving the cluster, and answer no more.
          sessions.lost(session);
        } else {
          // The server may lag, or have lost its data. The leader knows.
          boolean unused = sessions.renew(session, http.deadline());
        }
        return false;
      }
      lookForForce(session, entry.modifyIndex(), http.deadline());
      return true;
    } catch (StoreException e) {
      log.debug("Session {} may have lost a lock or ended; Consul can't tell", session.id(), e);
      return false;
    }
  }

  /**
   * Checks the keys of the session's holders if its own key was written to since the last check.
   */
  private void lookForForce(Session session, long noteIndex, Deadline deadline)
      throws StoreException {
    if (noteIndex == session.noteIndex()) {
      return;
    }
    session.beginLook();
    List<ConsulGrant> held =
        session.attempts().stream().map(Attempt::grant).filter(Objects::nonNull).toList();
    for (ConsulGrant grant : sessions.taken(held, deadline)) {
      settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
    }
    session.noteIndex(noteIndex);
  }
}
