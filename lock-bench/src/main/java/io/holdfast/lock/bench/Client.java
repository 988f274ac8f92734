package io.holdfast.lock.bench;

/** A candidate's client of a server, shared by the threads of one JVM, and ended with it. */
@FunctionalInterface
interface Client {
  /** Called by the thread that will use it; what a name needs once is done here, not measured. */
  Mutex mutex(String name) throws Exception;

  /** How a client of a candidate is made. */
  @FunctionalInterface
  interface Opener {
    /** Opens one at a server, by what the server says of itself. */
    Client open(String url) throws Exception;
  }
}
