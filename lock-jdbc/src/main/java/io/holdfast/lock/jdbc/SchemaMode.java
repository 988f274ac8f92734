package io.holdfast.lock.jdbc;

/** The ways in which a client can treat its tables when it is built. */
public enum SchemaMode {
  /**
   * Checks that the tables exist, with the right columns, a unique key on the name, and the right
   * version; otherwise {@code build()} fails and names the script to run. Then takes, renews and
   * frees a trial lock of its own. The default.
   */
  VALIDATE,

  /**
   * Does the same as {@link #VALIDATE}, but creates missing tables first, and adds the columns for
   * read-write locks to older ones. Several clients may do so at once, while others use the tables.
   * Needs the right to create tables, or to alter them.
   */
  CREATE,

  /**
   * Neither checks nor tries. A wrong table, or one that is too old, shows only when it is used.
   */
  NONE
}
