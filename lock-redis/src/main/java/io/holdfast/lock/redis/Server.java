package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.exceptions.JedisRedirectionException;
import redis.clients.jedis.util.Pool;

/**
 * Runs scripts where their keys live, each within the store timeout, on a connection of the user's
 * pool or, if there is none or it broke, on one of our own.
 *
 * <p>Threads: safe for all.
 */
final class Server implements AutoCloseable {
  private static final int REDIRECTIONS_MAX = 3;

  /** A server does nothing else meanwhile. */
  private static final int SCANNED_AT_ONCE = 1_000;

  /**
   * A connection that was idle for long can have been cut without a word. Renewals that are not
   * answered within this are sent again on a new one, while a lease that was just handed over still
   * stands.
   */
  private static final Duration RENEWAL_IS_PROMPT = Duration.ofMillis(500);

  private final Primaries primaries;
  private final Duration storeTimeout;
  private final Map<Pool<Connection>, OwnConnection> own = new ConcurrentHashMap<>();

  Server(Primaries primaries, Duration storeTimeout) {
    this.primaries = primaries;
    this.storeTimeout = storeTimeout;
  }

  /**
   * A script with its keys and arguments.
   *
   * @param keys not empty; the first one says which server it is
   * @param isAsking whether the server is to be told first that it was named by another
   * @param replicas who must have what a grant wrote before it counts; null: nobody
   */
  record Call(
      Script script,
      List<String> keys,
      List<?> arguments,
      boolean isAsking,
      @Nullable Replicas replicas) {
    Call(Script script, List<String> keys, Object... arguments) {
      this(script, keys, List.of(arguments), false, null);
    }

    /** With a grant that counts only once it is on these replicas. */
    Call confirmedBy(@Nullable Replicas replicas) {
      return replicas == null ? this : new Call(script, keys, arguments, isAsking, replicas);
    }

    String key() {
      return keys.get(0);
    }

    private Call asking() {
      return new Call(script, keys, arguments, true, replicas);
    }

    private CommandArguments bySha() {
      return rest(new CommandArguments(Protocol.Command.EVALSHA).add(script.sha()));
    }

    private CommandArguments byText() {
      return rest(new CommandArguments(Protocol.Command.EVAL).add(script.text()));
    }

    private CommandArguments rest(CommandArguments command) {
      command.add(keys.size());
      for (String key : keys) {
        command.key(key);
      }
      for (Object argument : arguments) {
        command.add(argument);
      }
      return command;
    }
  }

  /**
   * What came of a call.
   *
   * @param repeated whether it was sent twice, so that the first one may have been carried out
   */
  record Answer(@Nullable Object reply, boolean repeated) {}

  /** What to do if the pool has no connection to give. */
  enum WithoutPool {
    /** Wait for one, and fail if none comes: the application is not to be overtaken. */
    FAIL {
      @Override
      Duration waits(long leftNanos) {
        return Duration.ofNanos(leftNanos);
      }
    },
    /**
     * Use a connection of our own, at once: others wait for what this call frees, and the time that
     * it has is for the server to answer in.
     */
    USE_OWN {
      @Override
      Duration waits(long leftNanos) {
        return Duration.ZERO;
      }
    };

    /** For how long the pool is waited for. */
    abstract Duration waits(long leftNanos);
  }

  /** For one call to the store. On real time, whatever clock the engine runs on: sockets are. */
  static Deadline deadlineAfter(Duration storeTimeout) {
    return Deadline.after(storeTimeout, TimeSource.system());
  }

  /**
   * Runs a script. A connection that turns out to be broken is no failure yet: the script is sent
   * again on another, so it must be one that may be repeated.
   */
  Answer run(Call call, WithoutPool withoutPool) throws StoreException {
    return run(call, withoutPool, deadlineAfter(storeTimeout));
  }

  /** The same, as a part of a longer work. */
  Answer run(Call call, WithoutPool withoutPool, Deadline deadline) throws StoreException {
    for (int redirections = 0; ; redirections++) {
      try {
        return run(primaries.of(call.key()), deadline, call, withoutPool);
      } catch (JedisMovedDataException e) {
        if (redirections == REDIRECTIONS_MAX) {
          throw Failures.answered(e);
        }
        primaries.moved(call.key(), e.getTargetNode());
      } catch (JedisAskDataException e) {
        return new Answer(ask(primaries.at(e.getTargetNode()), deadline, call), false);
      }
    }
  }

  private Answer run(Pool<Connection> pool, Deadline deadline, Call call, WithoutPool withoutPool)
      throws StoreException {
    Connection connection;
    try {
      connection = borrow(pool, withoutPool, deadline, call);
    } catch (NoSuchElementException e) {
      if (withoutPool == WithoutPool.USE_OWN) {
        return onOwn(pool, deadline, call, false);
      }
      throw exhausted(pool, deadline, e);
    }
    try {
      return new Answer(execute(pool, connection, deadline, call), false);
    } catch (JedisConnectionException e) {
      if (deadline.isOver() || Failures.isTimeout(e)) {
        primaries.failed(call.key());
        throw Failures.unanswered(e);
      }
    }
    return onOwn(pool, deadline, call, true);
  }

  /** At the server to which a slot is just being moved. */
  private @Nullable Object ask(Pool<Connection> pool, Deadline deadline, Call call)
      throws StoreException {
    try {
      return execute(pool, borrow(pool, WithoutPool.FAIL, deadline, call), deadline, call.asking());
    } catch (NoSuchElementException e) {
      throw exhausted(pool, deadline, e);
    } catch (JedisConnectionException e) {
      throw Failures.unanswered(e);
    } catch (JedisRedirectionException e) {
      throw Failures.answered(e);
    }
  }

  /**
   * Makes sure that a script may use these keys together.
   *
   * @throws IllegalArgumentException it may not
   */
  void checkTogether(String lock, List<String> keys) {
    primaries.checkTogether(lock, keys);
  }

  /** Runs a script that must not be sent twice. */
  @Nullable
  Object runOnce(Call call) throws StoreException {
    Deadline deadline = deadlineAfter(storeTimeout);
    for (int redirections = 0; ; redirections++) {
      Pool<Connection> pool = primaries.of(call.key());
      try {
        return execute(pool, borrow(pool, WithoutPool.FAIL, deadline, call), deadline, call);
      } catch (NoSuchElementException e) {
        throw exhausted(pool, deadline, e);
      } catch (JedisConnectionException e) {
        throw Failures.unanswered(e);
      } catch (JedisMovedDataException e) {
        if (redirections == REDIRECTIONS_MAX) {
          throw Failures.answered(e);
        }
        primaries.moved(call.key(), e.getTargetNode());
      } catch (JedisAskDataException e) {
        return ask(primaries.at(e.getTargetNode()), deadline, call);
      }
    }
  }

  private static StoreException exhausted(
      Pool<Connection> pool, Deadline deadline, NoSuchElementException e) {
    return StoreException.refused(
        "The client's pool gave no connection within "
            + deadline.whole()
            + ": "
            + pool.getNumActive()
            + " are in use. Make the pool larger, or find out who keeps them",
        e);
  }

  private Connection borrow(
      Pool<Connection> pool, WithoutPool withoutPool, Deadline deadline, Call call)
      throws StoreException {
    try {
      return borrow(pool, withoutPool, deadline);
    } catch (StoreException e) {
      primaries.failed(call.key());
      throw e;
    }
  }

  private static Connection borrow(
      Pool<Connection> pool, WithoutPool withoutPool, Deadline deadline) throws StoreException {
    try {
      return deadline.awaitUninterruptibly(left -> pool.borrowObject(withoutPool.waits(left)));
    } catch (NoSuchElementException e) {
      throw e;
    } catch (Exception e) {
      throw Failures.unconnected(e);
    }
  }

  private static @Nullable Object execute(
      Pool<Connection> pool, Connection connection, Deadline deadline, Call call)
      throws StoreException {
    boolean usable = false;
    try {
      Object reply = execute(connection, deadline, call);
      usable = true;
      return reply;
    } catch (JedisRedirectionException e) {
      usable = true;
      throw e;
    } catch (JedisDataException e) {
      usable = !Failures.isOfAFormerPrimary(e);
      throw Failures.answered(e);
    } catch (StoreException e) {
      usable = true;
      throw e;
    } finally {
      giveBack(pool, connection, usable);
    }
  }

  private static void giveBack(Pool<Connection> pool, Connection connection, boolean usable) {
    if (usable && !connection.isBroken()) {
      pool.returnResource(connection);
    } else {
      try {
        pool.returnBrokenResource(connection);
      } catch (JedisException e) {
        // It is gone from the pool, but a new one for somebody who waits could not be opened.
      }
    }
  }

  private static @Nullable Object execute(Connection connection, Deadline deadline, Call call)
      throws StoreException {
    Object reply = executeInTime(connection, deadline, call);
    // A number is a grant, be it new, handed over or asked for again: each of them wrote.
    if (call.replicas != null && reply instanceof Long) {
      call.replicas.await(connection, deadline);
    }
    return reply;
  }

  /** On a connection whose socket waits no longer than there is time. */
  private static @Nullable Object executeInTime(
      Connection connection, Deadline deadline, Call call) {
    int usualMillis = connection.getSoTimeout();
    int leftMillis = deadline.leftMillis();
    if (usualMillis > 0 && usualMillis <= leftMillis) {
      return execute(connection, call);
    }
    connection.setSoTimeout(leftMillis);
    Object reply;
    try {
      reply = execute(connection, call);
    } catch (JedisDataException e) {
      connection.setSoTimeout(usualMillis);
      throw e;
    }
    connection.setSoTimeout(usualMillis);
    return reply;
  }

  /** A server that was restarted, or had its scripts flushed, is told the text again. */
  private static @Nullable Object execute(Connection connection, Call call) {
    try {
      announce(connection, call);
      return connection.executeCommand(call.bySha());
    } catch (JedisNoScriptException e) {
      announce(connection, call);
      return connection.executeCommand(call.byText());
    }
  }

  private static void announce(Connection connection, Call call) {
    if (call.isAsking) {
      Object unused = connection.executeCommand(new CommandArguments(Protocol.Command.ASKING));
    }
  }

  private Answer onOwn(Pool<Connection> pool, Deadline deadline, Call call, boolean repeated)
      throws StoreException {
    try {
      return ownOf(pool).use(deadline, connection -> {
        try {
          return new Answer(execute(connection, deadline, call), repeated);
        } catch (JedisRedirectionException e) {
          throw e;
        } catch (JedisDataException e) {
          if (Failures.isOfAFormerPrimary(e)) {
            connection.setBroken();
          }
          throw Failures.answered(e);
        }
      });
    } catch (JedisConnectionException e) {
      primaries.failed(call.key());
      throw Failures.unanswered(e);
    } catch (StoreException e) {
      if (repeated && !e.mayHaveHappened()) {
        throw StoreException.unanswered(
            "The connection broke before Redis answered, and then: " + e.getMessage(), e);
      }
      throw e;
    }
  }

  /**
   * Runs scripts of one server one after the other in one trip, on a connection of our own.
   *
   * @param calls not empty
   * @return what each one returned, or the {@link JedisDataException} that it was answered
   */
  List<Object> runAll(List<Call> calls) throws StoreException {
    Deadline deadline = deadlineAfter(storeTimeout);
    String key = calls.get(0).key();
    Pool<Connection> pool = primaries.of(key);
    try {
      List<Object> replies = promptly(ownOf(pool), deadline, calls);
      for (int i = 0; i < replies.size(); i++) {
        if (replies.get(i) instanceof JedisMovedDataException e) {
          primaries.moved(calls.get(i).key(), e.getTargetNode());
        }
      }
      return replies;
    } catch (JedisConnectionException e) {
      primaries.failed(key);
      throw Failures.unanswered(e);
    }
  }

  private static List<Object> promptly(OwnConnection own, Deadline deadline, List<Call> calls)
      throws StoreException {
    try {
      return own.use(
          deadline, connection -> pipeline(connection, deadline.within(RENEWAL_IS_PROMPT), calls));
    } catch (JedisConnectionException e) {
      if (deadline.isOver() || !Failures.isTimeout(e)) {
        throw e;
      }
    }
    return own.use(deadline, connection -> pipeline(connection, deadline, calls));
  }

  private static List<Object> pipeline(Connection connection, Deadline deadline, List<Call> calls) {
    connection.setSoTimeout(deadline.leftMillis());
    for (Call call : calls) {
      connection.sendCommand(call.bySha());
    }
    List<Object> replies = new ArrayList<>(connection.getMany(calls.size()));
    List<Integer> unknown = new ArrayList<>();
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof JedisNoScriptException) {
        unknown.add(i);
      }
    }
    if (!unknown.isEmpty()) {
      // The text of the first one will do for those behind it.
      connection.sendCommand(calls.get(unknown.get(0)).byText());
      for (int index : unknown.subList(1, unknown.size())) {
        connection.sendCommand(calls.get(index).bySha());
      }
      List<Object> again = connection.getMany(unknown.size());
      for (int i = 0; i < unknown.size(); i++) {
        replies.set(unknown.get(i), again.get(i));
      }
    }
    for (Object reply : replies) {
      if (reply instanceof JedisDataException e && Failures.isOfAFormerPrimary(e)) {
        connection.setBroken();
      }
    }
    return replies;
  }

  /** The pools of all servers that have keys. */
  List<Pool<Connection>> all(Deadline deadline) throws StoreException {
    return primaries.all(this, deadline);
  }

  /**
   * A part of the keys of a server.
   *
   * @param next where the next one begins
   */
  record Page(String next, List<String> keys) {
    static final String FIRST = "0";

    boolean isLast() {
      return next.equals(FIRST);
    }
  }

  /**
   * Looks through a part of a server's keys, which is over soon, however many there are.
   *
   * @param glob which of them to return, some perhaps twice
   */
  Page scan(Pool<Connection> pool, String from, String glob, Deadline deadline)
      throws StoreException {
    if (deadline.isOver()) {
      throw StoreException.refused("The time was over before all keys were looked through", null);
    }
    Object reply = read(
        pool,
        new CommandArguments(Protocol.Command.SCAN)
            .add(from)
            .add(Protocol.Keyword.MATCH)
            .add(glob)
            .add(Protocol.Keyword.COUNT)
            .add(SCANNED_AT_ONCE),
        deadline);
    if (reply instanceof List<?> both && both.size() == 2 && both.get(1) instanceof List<?> found) {
      return new Page(Reply.text(both.get(0)), found.stream().map(Reply::text).toList());
    }
    throw Reply.noAnswer(reply);
  }

  /** What a server, of which no key says which it is, replies to a command that changes nothing. */
  @Nullable
  Object read(Pool<Connection> pool, CommandArguments command, Deadline deadline)
      throws StoreException {
    return use(pool, deadline, connection -> connection.executeCommand(command));
  }

  /**
   * Runs scripts that change nothing at one server, in one trip on a connection of the user's pool.
   *
   * @return what each one returned, or the {@link JedisDataException} that it was answered
   */
  List<Object> readAll(Pool<Connection> pool, List<Call> calls, Deadline deadline)
      throws StoreException {
    return calls.isEmpty()
        ? List.of()
        : use(pool, deadline, connection -> pipeline(connection, deadline, calls));
  }

  private <T> T use(Pool<Connection> pool, Deadline deadline, OwnConnection.Use<T> reading)
      throws StoreException {
    try {
      Connection connection = borrow(pool, WithoutPool.FAIL, deadline);
      boolean usable = false;
      try {
        T read = useInTime(connection, deadline, reading);
        usable = true;
        return read;
      } finally {
        giveBack(pool, connection, usable);
      }
    } catch (NoSuchElementException e) {
      throw exhausted(pool, deadline, e);
    } catch (JedisDataException e) {
      throw Failures.answered(e);
    } catch (JedisConnectionException e) {
      if (deadline.isOver() || Failures.isTimeout(e)) {
        throw Failures.unanswered(e);
      }
    }
    // It was broken before: our own is opened anew.
    try {
      return ownOf(pool).use(deadline, connection -> useInTime(connection, deadline, reading));
    } catch (JedisDataException e) {
      throw Failures.answered(e);
    } catch (JedisConnectionException e) {
      throw Failures.unanswered(e);
    }
  }

  private static <T> T useInTime(
      Connection connection, Deadline deadline, OwnConnection.Use<T> reading)
      throws StoreException {
    int usualMillis = connection.getSoTimeout();
    connection.setSoTimeout(deadline.leftMillis());
    T read = reading.with(connection);
    connection.setSoTimeout(usualMillis);
    return read;
  }

  private OwnConnection ownOf(Pool<Connection> pool) {
    OwnConnection found = own.get(pool);
    if (found != null) {
      return found;
    }
    own.entrySet().removeIf(entry -> {
      boolean gone = entry.getKey().isClosed();
      if (gone) {
        entry.getValue().close();
      }
      return gone;
    });
    return own.computeIfAbsent(pool, OwnConnection::new);
  }

  @Override
  public void close() {
    own.values().forEach(OwnConnection::close);
  }
}
