package io.holdfast.lock.model;

/** A rule that no episode may break. */
enum Rule {
  /** At most one lease of a name stands at a time (L-2.1, L-4.2). */
  ONE_HOLDER,
  /** A lease that was closed without a loss was the only one from acquire to close (L-7.2). */
  CLOSED_WAS_ALONE,
  /** The engine says of a lease what its clocks and its state say: the checks rest on that. */
  LOOKS_AGREE,
  /** A name stays taken for the minimum hold of who closed it without a loss (L-7.5). */
  MIN_HOLD,
  /** Tokens rise in the order of time (L-8.1, L-8.2). */
  TOKENS_RISE,
  /** An acquire returns no lease that does not stand (L-6.13). */
  ARRIVES_STANDING,
  /** Busy is told only if another has the lock (L-6.3). */
  BUSY_IF_TAKEN,
  /** Every call ends within its bound, and a timed wait not before its time (L-6.2). */
  IN_TIME,
  /** Only documented exceptions, and none where nothing went wrong (L-6.3, L-7.3, L-7.7). */
  DOCUMENTED,
  /** A loss is told to a listener exactly once, and a release never (L-8.4). */
  LOSS_TOLD_ONCE,
  /** One lost message costs no renewed lease (L-5.5). */
  NOT_LOST_FOR_NOTHING,
  /** After the last fault every call ends. */
  ENDS,
  /** After the last fault every client gets every name within a TTL and a little (L-6.9, L-9.4). */
  RECOVERS,
  /** Then nothing is left: no place in line, no lease, no timer, no thread (L-10.4, L-10.5). */
  NOTHING_LEFT
}
