package io.holdfast.lock.spring;

/** The modes of a lease of {@link Locked}. */
public enum LeaseMode {
  /** The mode of the client's default options. */
  CLIENT_DEFAULT,
  /** Renewed while its process lives. */
  RENEWED,
  /** Ends with its TTL, unless the method has returned before. */
  FIXED
}
