package io.holdfast.lock.tck.fault;

import java.time.Duration;

/**
 * The way between a client and its store, with faults on demand. Faults add up and last until
 * {@link #heal()}, unless they say otherwise.
 *
 * <p>Threads: safe for all. Every method returns at once.
 */
public interface Link extends AutoCloseable {

  /** Which way a message goes. */
  enum Direction {
    /** From the client to the server. */
    REQUESTS,
    /** From the server to the client. */
    REPLIES
  }

  /** From now on messages in this direction arrive this much later; zero: at once. */
  void delay(Direction direction, Duration delay);

  /**
   * Messages in this direction wait; {@link #heal()} delivers them, even if their sender is gone.
   */
  void hold(Direction direction);

  /** Nothing arrives in either direction, silently; {@link #heal()} resets what lost something. */
  void blackhole();

  /**
   * The {@code n}-th request from now, counted from 1, is carried out; when it is answered, the
   * answer is dropped and the connection reset. Happens once.
   *
   * @throws IllegalArgumentException {@code n} is not positive
   */
  void dropReply(int n);

  /** Resets every connection, once; new ones work. */
  void cut();

  /** Resets every connection, and new ones as soon as they are made. */
  void refuse();

  /** Ends every fault. */
  void heal();

  /**
   * How many requests went out since the link was made: a request begins with the first message
   * after an answer, so what is sent in one go counts once.
   */
  long requests();

  /** Has this closed after the link, last given first. */
  void onClose(AutoCloseable resource);

  /** Resets every connection for good, and closes what was given to {@link #onClose}. */
  @Override
  void close();
}
