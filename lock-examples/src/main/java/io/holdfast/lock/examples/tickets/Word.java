package io.holdfast.lock.examples.tickets;

/** A word from a seller to its parent: a line on its standard output that begins with it. */
enum Word {
  /** It waits for the start. */
  READY,
  /** It has the lock. Two numbers: for how long it waited, and its crash bound, in ms. */
  HAS_LOCK,
  /** It serves a customer who takes long. */
  SERVES_SLOWLY,
  /** It sold a seat. */
  SOLD,
  /** Its write was refused. The rest of the line says why. */
  REFUSED,
  /** It learned, after its write, that it had lost the lock before. The rest says why. */
  LOST,
  /** It is done. */
  DONE
}
