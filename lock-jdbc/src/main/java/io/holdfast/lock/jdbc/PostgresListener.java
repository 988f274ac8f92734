package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Postgres;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of hand-overs on PostgreSQL, on a connection of the pool that is kept while anybody waits
 * and for a minute after. Notifications are believed in only after one of our own has arrived, sent
 * on another connection of the pool, and only while that goes on: after a switchover the kept
 * connection may lead to a server that lives and never notifies. Without them the poller looks as
 * it does on other databases.
 *
 * <p>A pooler that hands out server connections per transaction would give what one of them listens
 * to to whoever has it next, where it lies unread. So nothing is listened to behind a pooler,
 * unless the user says that it keeps sessions.
 *
 * <p>Threads: safe for all.
 */
final class PostgresListener implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PostgresListener.class);

  private static final Duration OPEN_MAX = Duration.ofSeconds(2);
  private static final Duration CLOSE_MAX = Duration.ofSeconds(60);
  private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(15);
  /** A try that failed is followed by another after this long, twice as long each time ... */
  private static final long RETRY_NANOS_MIN = TimeUnit.SECONDS.toNanos(10);

  /** ... up to this. */
  private static final long RETRY_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);

  /** How long the thread reads at a time, and so how late it sees that it shall end. */
  private static final int READ_MILLIS = 200;

  private static final int VALID_SECONDS = 2;

  /** Anybody may notify on the channel: what does not look like it is left alone. */
  private static final Pattern HAND_OVER =
      Pattern.compile("(?<owner>[0-9a-f]{32}) (?<number>[0-9]{1,18})");

  private final Postgres dialect;
  private final Database database;
  private final boolean behindPooler;
  private final String threadName;

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private @Nullable Thread thread;
  private long retryAtNanos = System.nanoTime();
  private long retryNanos = RETRY_NANOS_MIN;

  private volatile boolean listening;
  private volatile boolean impossible;
  private volatile boolean closed;

  /** @param behindPooler whether to listen even behind a pooler */
  PostgresListener(Postgres dialect, Database database, boolean behindPooler, String threadName) {
    this.dialect = dialect;
    this.database = database;
    this.behindPooler = behindPooler;
    this.threadName = threadName;
  }

  /** Whether a hand-over to a waiter of this client is heard of. */
  boolean isListening() {
    return listening;
  }

  /** Somebody waits: begins to listen unless it does already, or can't. Returns at once. */
  void listen(Poller poller) {
    if (listening || impossible || closed) {
      return;
    }
    lock.lock();
    try {
      if (thread == null && System.nanoTime() - retryAtNanos >= 0) {
        Thread starting = new Thread(() -> run(poller), threadName);
        starting.setDaemon(true);
        starting.start();
        thread = starting;
      }
    } catch (OutOfMemoryError e) { // Without a thread to hear with, waiting polls.
      LOG.debug("Nobody can listen for hand-overs now", e);
      retryAtNanos = System.nanoTime() + RETRY_NANOS_MIN;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    closed = true;
    Thread running;
    lock.lock();
    try {
      running = thread;
    } finally {
      lock.unlock();
    }
    if (running != null) {
      // For join(), zero means for ever.
      Deadlines.after(CLOSE_MAX).awaitUninterruptibly(leftNanos -> {
        running.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        return true;
      });
    }
  }

  private void run(Poller poller) {
    try {
      database.lendFor(OPEN_MAX, connection -> hear(connection, poller));
    } catch (NoConnectionException | StoreException | SQLException | RuntimeException e) {
      LOG.debug("Listening for hand-overs ended; waiting falls back to polling for now", e);
    } catch (LinkageError e) {
      giveUp("PostgreSQL's driver is not visible to Holdfast: " + e);
    } finally {
      listening = false;
      lock.lock();
      try {
        thread = null;
        retryAtNanos = System.nanoTime() + retryNanos;
        retryNanos = Math.min(RETRY_NANOS_MAX, Math.max(RETRY_NANOS_MIN, 2 * retryNanos));
      } finally {
        lock.unlock();
      }
      poller.lookAtAll();
    }
  }

  private void giveUp(String reason) {
    impossible = true;
    LOG.info("Waiting for locks polls, since notifications can't be used: {}", reason);
  }

  private void hear(Connection connection, Poller poller) throws SQLException, StoreException {
    if (!connection.isWrapperFor(PGConnection.class)) {
      giveUp("the connection does not unwrap to org.postgresql.PGConnection");
      return;
    }
    PGConnection notified = connection.unwrap(PGConnection.class);
    if (!behindPooler && isPooled(connection, notified)) {
      giveUp("a pooler is between here and PostgreSQL. If it keeps sessions, notifications(true) on"
          + " the builder says so; if it does not, notifications(false) spares the question");
      return;
    }
    String channel = dialect.channel();
    execute(connection, "LISTEN \"" + channel + '"');
    try {
      if (!hearsItself(notified, poller)) {
        LOG.info("Waiting for locks polls for now: a notification of our own did not arrive");
        return;
      }
      heardItself();
      poller.lookAtAll();
      hearUntilIdle(connection, notified, poller);
    } finally {
      listening = false;
      // The pool's next borrower must not get our notifications.
      execute(connection, "UNLISTEN \"" + channel + '"');
    }
  }

  private void heardItself() {
    lock.lock();
    try {
      retryNanos = 0; // At its end, another may listen at once.
    } finally {
      lock.unlock();
    }
    listening = true;
  }

  /** Whether a pooler is in between: the driver was told the pooler's process, and not this one. */
  private boolean isPooled(Connection connection, PGConnection notified) throws SQLException {
    int backend =
        Sessions.run(connection, Deadlines.after(OPEN_MAX), c -> dialect.backendProcess(c));
    return backend != notified.getBackendPID();
  }

  /** Whether a notification that is sent on another connection arrives; others are passed on. */
  private boolean hearsItself(PGConnection notified, Poller poller)
      throws SQLException, StoreException {
    String hello = "hello " + UUID.randomUUID(); // An earlier one can still be on its way.
    Deadline deadline = Deadlines.after(OPEN_MAX);
    database.onPool(deadline, (d, c) -> {
      dialect.notify(c, hello);
      return true;
    });
    while (!deadline.isOver() && !closed) {
      for (PGNotification notification : read(notified)) {
        if (hello.equals(notification.getParameter())) {
          return true;
        }
        tell(poller, notification.getParameter());
      }
    }
    return closed;
  }

  private void hearUntilIdle(Connection connection, PGConnection notified, Poller poller)
      throws SQLException {
    long awaitedAt = System.nanoTime();
    long checkedAt = awaitedAt;
    while (!closed) {
      for (PGNotification notification : read(notified)) {
        tell(poller, notification.getParameter());
      }
      long now = System.nanoTime();
      if (poller.isAwaited()) {
        awaitedAt = now;
      } else if (now - awaitedAt >= KEEP_NANOS) {
        return;
      }
      if (now - checkedAt >= CHECK_NANOS) {
        // A line that is dead is silent, and so is a server that is the primary no more.
        if (!stillHears(connection, notified, poller)) {
          throw new SQLException("The listening connection does not hear what others send");
        }
        checkedAt = System.nanoTime();
      }
    }
  }

  private static void tell(Poller poller, String payload) {
    Matcher handOver = HAND_OVER.matcher(payload);
    if (handOver.matches()) {
      poller.handedOver(handOver.group("owner"), Long.parseLong(handOver.group("number")));
    }
  }

  private boolean stillHears(Connection connection, PGConnection notified, Poller poller)
      throws SQLException {
    try {
      return hearsItself(notified, poller);
    } catch (StoreException e) {
      LOG.debug("Nothing could be sent to the listening connection", e);
      return connection.isValid(VALID_SECONDS); // The application may have exhausted the pool.
    }
  }

  private static PGNotification[] read(PGConnection notified) throws SQLException {
    PGNotification[] notifications = notified.getNotifications(READ_MILLIS);
    return notifications == null ? new PGNotification[0] : notifications;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    Sessions.run(connection, Deadlines.after(OPEN_MAX), c -> {
      try (Statement statement = c.createStatement()) {
        return statement.execute(sql);
      }
    });
  }
}
