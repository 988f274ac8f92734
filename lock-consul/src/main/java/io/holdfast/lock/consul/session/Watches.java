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
 * The long polls on the sessions' own keys, one for each, which tell at once of what would else be
 * told by the next renewal. Thread-safe.
 */
public final class Watches {
  private static final Logger log = LoggerFactory.getLogger(Watches.class);

  private static final long WAIT_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);

  /** The longest time until the next one begins after a failure. */
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

  /** Begins one if there is none, since a thread or its memory was missing. */
  void tend(Session session, long nowNanos) {
    if (session.hasNoWatch(nowNanos)) {
      unwatched(session);
      begin(session, 0);
    }
  }

  /**
   * Begins a long poll, which tells of the session's end, since that takes the key from it, and of
   * a lock that was taken from it by force, since that changes the key.
   */
  void begin(Session session, long index) {
    if (!sessions.isInUse(session)) {
      return;
    }
    Duration wait = Duration.ofNanos(Math.min(session.ttlNanos(), WAIT_NANOS_MAX));
    if (index > 0) {
      // Should the connection die unnoticed, this is for how long that is not noticed.
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

  /** A long poll on a session's own key, and what follows. */
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
        // Should the next one never begin, the thread that tends sessions begins it.
        session.watchEnds(time.nanos() + NEXT_NANOS);
        unwatched(session);
        sessions.ticker().later(() -> begin(session, 0));
      }
    }
  }

  /** Tells the holders that a loss would not be heard of; a renewal ends that doubt. */
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

  /** Acts on what a session's own key tells; false if that is not enough. */
  private boolean noticed(Session session, @Nullable Entry entry, long index) {
    try {
      if (entry == null || !entry.session().equals(session.id())) {
        long goneIndex =
            entry == null ? index : entry.session().isEmpty() ? entry.modifyIndex() : 0;
        if (goneIndex > session.noteIndex()) {
          // The key was there before that index, so this is its end; and the server that tells of
          // it may be leaving itself, and tell no more.
          sessions.lost(session);
        } else {
          // A server that lags, or lost its memory, is no proof; the leader's word is.
          boolean unused = sessions.renew(session, http.deadline());
        }
        return false;
      }
      lookForForce(session, entry.modifyIndex(), http.deadline());
      return true;
    } catch (StoreException e) {
      log.debug("Session {} seems gone or robbed, and Consul can't be asked", session.id(), e);
      return false;
    }
  }

  /** Looks whether its holders still have their keys, if its own key was written to since. */
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
