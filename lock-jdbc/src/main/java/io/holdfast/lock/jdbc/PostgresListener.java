package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Lent;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Postgres;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for hand-overs on PostgreSQL, on a connection of the pool that is kept while there are
 * waiters and for a minute after. Without notifications the poller polls as on other databases.
 *
 * <p>Notifications are relied on only once a test notification has arrived that was sent on another
 * connection of the pool. The test is repeated, since after a switchover the kept connection may
 * lead to a server that is alive and never notifies.
 *
 * <p>Behind a pooler that hands out server connections per transaction, notifications would go to
 * whichever client has the connection next, and pile up there unread. So this does not listen
 * behind a pooler, unless the user says that the pooler keeps sessions.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class PostgresListener implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PostgresListener.class);

  /** The wait for a connection takes at most the store timeout divided by this. */
  private static final int SHARE_OF_TIMEOUT = 2;

  /** The longest time that {@link #close()} waits for the listening thread. */
  private static final Duration CLOSE_MAX = Duration.ofSeconds(60);

  /** The time for which the connection is kept after the last waiter. */
  private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** The time between two test notifications. */
  private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(15);

  /** The pause after the first failed try to listen; it doubles with each failure. */
  private static final long RETRY_NANOS_MIN = TimeUnit.SECONDS.toNanos(10);

  /** The longest pause between two tries to listen. */
  private static final long RETRY_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);

  /**
   * The longest time that one read waits for notifications, and so the delay with which the thread
   * notices that it must end.
   */
  private static final int READ_MILLIS = 200;

  /**
   * The form of a notification: of a hand-over, to a reader with an {@code r}; or, to a reader,
   * that another one was handed the lock; or that a permit is free, perhaps which one. Anybody may
   * notify on the channel; a forged one has no effect, since owner ids can't be guessed.
   */
  private static final Pattern NOTIFICATION = Pattern.compile(
      "(?<owner>[0-9a-f]{32})( (?<number>[0-9]{1,18}) (?<expires>[0-9]{1,18})(?<reader> r)?"
          + "| p(?<permit>[0-9]{1,3}))?");

  private final Postgres dialect;
  private final Database database;
  private final boolean evenBehindPooler;
  private final String threadName;

  // Guarded by this object's monitor.
  private @Nullable Thread thread;
  private long retryAtNanos = System.nanoTime();
  private long retryNanos = RETRY_NANOS_MIN;

  /** Whether notifications of hand-overs to this client arrive. */
  volatile boolean listening;

  private volatile boolean impossible;
  private volatile boolean closed;

  /** @param evenBehindPooler whether to listen even behind a pooler */
  PostgresListener(
      Postgres dialect, Database database, boolean evenBehindPooler, String threadName) {
    this.dialect = dialect;
    this.database = database;
    this.evenBehindPooler = evenBehindPooler;
    this.threadName = threadName;
  }

  /**
   * Starts to listen, since there is a waiter. Does nothing if this listens already, can't, or
   * failed a short time ago. Returns at once.
   */
  void listen(Poller poller) {
    if (listening || impossible || closed) {
      return;
    }
    synchronized (this) {
      if (thread == null && System.nanoTime() - retryAtNanos >= 0) {
        startThread(poller);
      }
    }
  }

  private void startThread(Poller poller) {
    try {
      Thread starting = new Thread(null, () -> run(poller), threadName, 0, false);
      starting.setDaemon(true);
      starting.start();
      thread = starting;
    } catch (OutOfMemoryError e) { // Without a thread to listen on, waiters rely on polling.
      retryAtNanos = System.nanoTime() + RETRY_NANOS_MIN;
      log.debug("Nobody can listen for hand-overs now", e);
    }
  }

  @Override
  public void close() {
    closed = true;
    Thread running;
    synchronized (this) {
      running = thread;
    }
    if (running != null) {
      // To join(), zero means no limit.
      Deadlines.after(CLOSE_MAX).awaitUninterruptibly(leftNanos -> {
        running.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        return true;
      });
    }
  }

  private void run(Poller poller) {
    try (Lent lent = lend()) {
      hear(lent.connection(), poller);
      lent.markUsable();
    } catch (StoreException | SQLException | RuntimeException e) {
      log.debug("Listening for hand-overs ended; waiting falls back to polling for now", e);
    } catch (LinkageError e) {
      giveUp("PostgreSQL's driver is not visible to Holdfast: " + e);
    } finally {
      synchronized (this) {
        thread = null;
        retryAtNanos = System.nanoTime() + retryNanos;
        retryNanos = Math.min(RETRY_NANOS_MAX, Math.max(RETRY_NANOS_MIN, 2 * retryNanos));
      }
      poller.pollAll();
    }
  }

  private Lent lend() throws StoreException {
    return database.lend(Deadlines.part(database.deadline(), SHARE_OF_TIMEOUT));
  }

  private void giveUp(String reason) {
    impossible = true;
    log.info("Waiting for locks polls, since notifications can't be used: {}", reason);
  }

  private void hear(Connection connection, Poller poller) throws SQLException, StoreException {
    if (!connection.isWrapperFor(PGConnection.class)) {
      giveUp("the connection does not unwrap to org.postgresql.PGConnection");
      return;
    }
    PGConnection notified = connection.unwrap(PGConnection.class);
    // Behind a pooler, the driver knows the process id of the pooler, and not that of the server.
    if (!evenBehindPooler
        && Sessions.run(connection, database.deadline(), dialect::backendProcess)
            != notified.getBackendPID()) {
      giveUp("a pooler is between here and PostgreSQL. If it keeps sessions, notifications(true) on"
          + " the builder says so; if it does not, notifications(false) spares the question");
      return;
    }
    String channel = dialect.channel();
    Sessions.execute(connection, database.deadline(), "LISTEN \"" + channel + '"');
    try {
      if (!selfTest(notified, poller)) {
        log.info("Waiting for locks polls for now: a notification of our own did not arrive");
        return;
      }
      synchronized (this) {
        retryNanos = 0; // After this thread, another may listen at once.
      }
      listening = true;
      poller.pollAll();
      hearUntilIdle(connection, notified, poller);
    } finally {
      listening = false;
      // The connection's next borrower must not get our notifications.
      Sessions.execute(connection, database.deadline(), "UNLISTEN \"" + channel + '"');
    }
  }

  /**
   * Sends a test notification on another connection, and returns whether it arrives; true if the
   * client is closed meanwhile. Other notifications are passed on.
   *
   * @throws StoreException it can't be sent: perhaps the pool has no other connection to give
   */
  private boolean selfTest(PGConnection notified, Poller poller)
      throws SQLException, StoreException {
    // Unique, since an earlier test notification can still be on its way.
    String hello = "hello " + UUID.randomUUID();
    try (Lent lent = lend()) {
      Sessions.run(lent.connection(), database.deadline(), c -> dialect.notify(c, hello));
      lent.markUsable();
    } catch (SQLException e) {
      throw StoreException.refused("A test notification could not be sent: " + e, e);
    }
    Deadline deadline = database.deadline();
    do {
      if (read(notified, poller).contains(hello)) {
        return true;
      }
    } while (!deadline.isOver() && !closed);
    return closed;
  }

  /** Reads what has arrived, and tells the poller of hand-overs. */
  private static List<String> read(PGConnection notified, Poller poller) throws SQLException {
    List<String> payloads = Stream.ofNullable(notified.getNotifications(READ_MILLIS))
        .flatMap(Stream::of)
        .map(PGNotification::getParameter)
        .toList();
    for (String payload : payloads) {
      Matcher notification = NOTIFICATION.matcher(payload);
      if (notification.matches()) {
        poller.wakeNotified(notification.group("owner"), waiter -> note(waiter, notification));
      }
    }
    return payloads;
  }

  private static void note(JdbcTicket waiter, Matcher notification) {
    if (notification.group("permit") != null) {
      waiter.freePermit = Integer.parseInt(notification.group("permit"));
    }
    if (notification.group("number") != null) {
      waiter.noteNotification(
          Long.parseLong(notification.group("number")),
          Long.parseLong(notification.group("expires")),
          notification.group("reader") == null);
    }
  }

  private void hearUntilIdle(Connection connection, PGConnection notified, Poller poller)
      throws SQLException {
    long awaitedAt = System.nanoTime();
    long checkedAt = awaitedAt;
    while (!closed) {
      read(notified, poller);
      long now = System.nanoTime();
      if (poller.isAwaited()) {
        awaitedAt = now;
      } else if (now - awaitedAt >= KEEP_NANOS) {
        return;
      }
      if (now - checkedAt >= CHECK_NANOS) {
        // Silence proves nothing: a dead connection is silent, and so is a server that is no longer
        // the primary.
        if (!repeatSelfTest(connection, notified, poller)) {
          throw new SQLException("The listening connection does not hear what others send");
        }
        checkedAt = System.nanoTime();
      }
    }
  }

  /** Repeats the self-test; without a second connection, asks the listening one only. */
  private boolean repeatSelfTest(Connection connection, PGConnection notified, Poller poller)
      throws SQLException {
    try {
      return selfTest(notified, poller);
    } catch (StoreException e) {
      log.debug("Nothing could be sent to the listening connection", e);
      // Perhaps the application has exhausted the pool.
      return connection.isValid((int) Math.max(1, database.deadline().whole().toSeconds()));
    }
  }
}
