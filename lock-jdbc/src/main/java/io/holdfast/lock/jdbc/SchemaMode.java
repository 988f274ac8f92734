package io.holdfast.lock.jdbc;

/** What a client does about the table when it is built. */
public enum SchemaMode {
  /**
   * Checks that the table is there, has the right columns, a unique key on the name, and the right
   * version; else {@code build()} fails and names the script to run. Then takes, renews and frees a
   * lock of its own for a trial. The default.
   */
  VALIDATE,

  /**
   * As {@link #VALIDATE}, but creates a missing table first. Several clients may do so at once.
   * Needs the right to create tables.
   */
  CREATE,

  /** Does not look, nor try. A wrong table shows at the first use of a lock. */
  NONE
}
