package io.holdfast.lock.tck;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.fault.StoreLink;
import io.holdfast.lock.tck.process.ChildProcess;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

/**
 * What a backend's author supplies: how to make clients of a store, how to reach its server, and
 * how to break it. Opened once for a run of the kit.
 *
 * <p>The server's wall clock is this machine's, or shows about the same: rule L-2.9 compares them.
 *
 * <p>Only the abstract methods are needed. Each of the others belongs to a {@link Capability}, and
 * is called only if that one is declared.
 *
 * <p>Threads: safe for all; tests run several at a time. Those that disturb the server
 * ({@link #pauseServer()}, {@link #killServer()}) and those that count ({@link #leftovers()}) run
 * alone.
 */
public interface Fixture extends StoreAccess {

  /** What the fixture can do. */
  Set<Capability> capabilities();

  /** Why it can't do this, for the report of skipped tests. */
  default String whyNot(Capability missing) {
    return "the fixture does not offer " + missing;
  }

  /** The durations that suit the store. */
  default Timing timing() {
    return Timing.defaults();
  }

  /** Builds a client; a place to decorate it. */
  default LockClient build(LockClientBuilder<?> builder) {
    return builder.build();
  }

  /**
   * A builder of a client whose engine talks to {@code tap.apply(store)} in place of the store. See
   * {@link TappedBuilder}. Capability {@link Capability#TAP}.
   */
  default LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    throw missing(Capability.TAP);
  }

  /**
   * A new way to the server, without a fault yet: a {@link FaultProxy} in front of it, or a
   * {@link StoreLink} for a store without a network. Capability {@link Capability#FAULTS}.
   */
  default Link newLink() {
    throw missing(Capability.FAULTS);
  }

  /**
   * A builder of a client all of whose traffic goes through this link, its very own connections
   * included. What has to be closed after the client is given to {@link Link#onClose}. Capability
   * {@link Capability#FAULTS}.
   */
  default LockClientBuilder<?> newClient(Link link) {
    throw missing(Capability.FAULTS);
  }

  /** Freezes the server: it answers nobody, and loses nothing. {@link Capability#SERVER_PAUSE}. */
  default void pauseServer() throws Exception {
    throw missing(Capability.SERVER_PAUSE);
  }

  /** Wakes the server up. Does nothing if it runs. */
  default void resumeServer() throws Exception {
    throw missing(Capability.SERVER_PAUSE);
  }

  /** Kills the server with no time to prepare. {@link Capability#SERVER_RESTART}. */
  default void killServer() throws Exception {
    throw missing(Capability.SERVER_RESTART);
  }

  /**
   * Starts the server again at the same address and with what it had on disk; returns at once, the
   * kit waits until it answers. Does nothing if it runs.
   */
  default void startServer() throws Exception {
    throw missing(Capability.SERVER_RESTART);
  }

  /** How a child process reaches the same store. Capability {@link Capability#CHILD_PROCESSES}. */
  default ChildProcess.Entry childProcess() {
    throw missing(Capability.CHILD_PROCESSES);
  }

  /**
   * What the store keeps for locks and clients that are gone, by a readable name: rows, keys,
   * nodes, sessions, connections. Where the store has a purge, after that purge. Called when no
   * client is open. Capability {@link Capability#LEFTOVERS}.
   */
  default Map<String, Long> leftovers() throws Exception {
    throw missing(Capability.LEFTOVERS);
  }

  /**
   * Begins a transaction of the caller's own on the store, writes something in it, runs the body on
   * the same thread, rolls back, and tells whether the write is gone. Capability
   * {@link Capability#CALLER_TRANSACTIONS}.
   */
  default boolean isRolledBackAround(Callable<?> body) throws Exception {
    throw missing(Capability.CALLER_TRANSACTIONS);
  }

  private static UnsupportedOperationException missing(Capability capability) {
    return new UnsupportedOperationException(
        "Declared or called without an implementation: " + capability);
  }
}
