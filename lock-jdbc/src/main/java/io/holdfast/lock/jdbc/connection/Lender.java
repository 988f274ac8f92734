package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;

/**
 * A source of connections, each lent to one borrower at a time. Safe for use by any number of
 * threads.
 */
@FunctionalInterface
public interface Lender {
  /**
   * Lends a connection within the deadline.
   *
   * @throws StoreException there is none, so that nothing can have been sent; caused by an
   *     {@link IllegalStateException} if the data source is not fit for Holdfast
   */
  Lent lend(Deadline deadline) throws StoreException;
}
