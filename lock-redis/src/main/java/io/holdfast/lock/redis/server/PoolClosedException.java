package io.holdfast.lock.redis.server;

/**
 * Thrown when a pool was closed after it was looked up. Jedis does that to the pool of a former
 * primary, or of a node without slots. Nothing was sent; another pool may have taken its place.
 */
final class PoolClosedException extends Exception {
  private static final long serialVersionUID = 1;

  PoolClosedException() {
    super("The pool of connections was closed");
  }
}
