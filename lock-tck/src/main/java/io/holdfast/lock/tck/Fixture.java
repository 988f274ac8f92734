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
 * The kit's access to one backend, written by the backend's author: makes clients, and pauses or
 * kills the server. Opened once for a run of the kit.
 *
 * <p>The server's wall clock must show about the same time as this machine's: rule L-2.9 compares
 * them.
 *
 * <p>Only the abstract methods are mandatory. Others belong to a {@link Capability}, and are called
 * only if that is declared.
 *
 * <p>Threads: must be safe for use by any number of threads, since tests run at the same time.
 * Tests that disturb the server ({@link #pauseServer()}, {@link #killServer()}) and those that
 * count ({@link #leftovers()}) run alone.
 */
public interface Fixture extends StoreAccess {

  /** Returns what the fixture can do. */
  Set<Capability> capabilities();

  /** Returns the reason why the fixture lacks this capability, for the report of skipped tests. */
  default String whyNot(Capability missing) {
    return "the fixture does not offer " + missing;
  }

  /** Returns the durations that suit the store. */
  default Timing timing() {
    return Timing.defaults();
  }

  /** Builds a client; override this to decorate it. */
  default LockClient build(LockClientBuilder<?> builder) {
    return builder.build();
  }

  /**
   * Returns a builder of a client whose engine uses {@code tap.apply(store)} in place of the store.
   * See {@link TappedBuilder}. Capability {@link Capability#TAP}.
   */
  default LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    throw missing(Capability.TAP);
  }

  /**
   * Returns a new link to the server, without faults so far: a {@link FaultProxy} in front of it,
   * or a {@link StoreLink} for a store without a network. Capability {@link Capability#FAULTS}.
   */
  default Link newLink() {
    throw missing(Capability.FAULTS);
  }

  /**
   * Returns a builder of a client whose whole traffic goes through this link, including that of
   * connections of its own. Pass whatever must be closed after the client to {@link Link#onClose}.
   * Capability {@link Capability#FAULTS}.
   */
  default LockClientBuilder<?> newClient(Link link) {
    throw missing(Capability.FAULTS);
  }

  /**
   * Freezes the server: it gives no answer, and loses nothing. Capability
   * {@link Capability#SERVER_PAUSE}.
   */
  default void pauseServer() throws Exception {
    throw missing(Capability.SERVER_PAUSE);
  }

  /** Lets the server run again. Does nothing if it runs. */
  default void resumeServer() throws Exception {
    throw missing(Capability.SERVER_PAUSE);
  }

  /** Kills the server without warning. Capability {@link Capability#SERVER_RESTART}. */
  default void killServer() throws Exception {
    throw missing(Capability.SERVER_RESTART);
  }

  /**
   * Starts the server again, at the same address and with what it has on disk. Returns at once; the
   * kit waits until the server answers. Does nothing if it runs.
   */
  default void startServer() throws Exception {
    throw missing(Capability.SERVER_RESTART);
  }

  /**
   * Returns how a child process opens its access to the same store. Capability
   * {@link Capability#CHILD_PROCESSES}.
   */
  default ChildProcess.Entry childProcess() {
    throw missing(Capability.CHILD_PROCESSES);
  }

  /**
   * Counts what the store keeps for locks and clients that are gone (rows, keys, nodes, sessions,
   * connections), by a readable name; if the store has a purge, after a purge. Called when no
   * client is open. Capability {@link Capability#LEFTOVERS}.
   */
  default Map<String, Long> leftovers() throws Exception {
    throw missing(Capability.LEFTOVERS);
  }

  /**
   * Begins a transaction of the caller's own on the store, writes something in it, runs the body on
   * the same thread, and rolls back. Returns whether the write is gone. Capability
   * {@link Capability#CALLER_TRANSACTIONS}.
   */
  default boolean isRolledBackAround(Callable<?> body) throws Exception {
    throw missing(Capability.CALLER_TRANSACTIONS);
  }

  private static UnsupportedOperationException missing(Capability capability) {
    return new UnsupportedOperationException(
        "The fixture does not implement the capability " + capability);
  }
}
