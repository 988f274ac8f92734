package io.holdfast.lock.jdbc.dialect;

import org.jspecify.annotations.Nullable;

/**
 * A statement with lists as parameters, of equal lengths: one {@link Sql} for each of the lengths
 * to which lists are padded, so that there are only a few texts. Each is built when it is needed.
 *
 * <p>Threads: safe for use by any number of threads. Two may build the same text at once; either
 * will do.
 */
final class ListSql {
  private static final int[] SIZES = {1, 8, 64, Dialect.BATCH_MAX};

  private final Syntax syntax;
  private final String template;
  private final @Nullable Sql[] bySize = new @Nullable Sql[SIZES.length];

  ListSql(Syntax syntax, String template) {
    this.syntax = syntax;
    this.template = template;
  }

  /** Returns the statement for lists of this length. */
  Sql of(int size) {
    for (int i = 0; i < SIZES.length; i++) {
      if (size <= SIZES[i]) {
        Sql sql = bySize[i];
        if (sql == null) {
          sql = new Sql(syntax, template, SIZES[i]);
          bySize[i] = sql;
        }
        return sql;
      }
    }
    throw new IllegalArgumentException("A list of " + size + " is too long for one statement");
  }
}
