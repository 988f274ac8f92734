package io.holdfast.lock.tck.fault;

import java.time.Duration;

/**
 * The connection between a client and its store, with faults on demand. Faults add up, and last
 * until {@link #heal()} unless specified otherwise.
 *
 * <p>Threads: safe for use by any number of threads. Every method returns at once.
 */
public interface Link extends AutoCloseable {

  /**
   * Returns the round trip of the network that new links imitate, beside all faults: the system
   * property {@code holdfast.rtt}, in milliseconds, or zero. Where it is not zero, the kit's
   * clients are all behind a link, except those with a tap and those of child processes.
   */
  static Duration roundTrip() {
    return Duration.ofMillis(Integer.getInteger("holdfast.rtt", 0));
  }

  /** The directions of messages. */
  enum Direction {
    /** From the client to the server. */
    REQUESTS,
    /** From the server to the client. */
    REPLIES
  }

  /** Delays messages in this direction from now on; zero ends the delay. */
  void delay(Direction direction, Duration delay);

  /**
   * Holds messages in this direction back; {@link #heal()} delivers them, even if their sender is
   * gone.
   */
  void hold(Direction direction);

  /**
   * Silently drops everything in both directions; {@link #heal()} resets connections that lost
   * data.
   */
  void blackhole();

  /**
   * Drops one reply: the {@code n}-th request from now, counted from 1, is carried out, but its
   * reply is dropped and the connection reset. Happens once.
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
   * Returns the number of requests since the link was made. A request begins with the first message
   * after a reply, so messages that are sent without waiting for a reply count once.
   */
  long requests();

  /**
   * Returns the number of connections that were made over the link so far; zero if its store has no
   * network.
   */
  long connectionsMade();

  /** Registers a resource to be closed after the link; the last one registered is closed first. */
  void onClose(AutoCloseable resource);

  /** Resets every connection for good, and closes the resources of {@link #onClose}. */
  @Override
  void close();
}
