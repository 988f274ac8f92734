package io.holdfast.lock.redis;

/**
 * A pool was closed after it was looked up, as Jedis does with that of a node that has no slot any
 * more, or of a former primary. Nothing was sent; another pool may have taken its place.
 */
final class PoolClosedException extends Exception {
  private static final long serialVersionUID = 1;

  PoolClosedException() {
    super("The pool of connections was closed");
  }
}
