package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.util.List;

/** A child process's way to a database: URL, user, password. */
@SuppressWarnings("exports") // Only child processes of the tests load it.
public final class JdbcAccessFactory implements StoreAccessFactory {
  private static final int POOL_SIZE = 8;

  /** For the child process. */
  public JdbcAccessFactory() {}

  @Override
  public StoreAccess open(List<String> arguments) {
    JdbcAccess access =
        new JdbcAccess(arguments.get(0), arguments.get(1), arguments.get(2), POOL_SIZE);
    access.awaitPool();
    return access;
  }
}
