package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockClient;
import javax.sql.DataSource;

/**
 * The parts that every act uses.
 *
 * @param dataSource the parent's own connections, to read what was sold
 * @param locks the parent's own lock client, to read who holds a lock
 * @param staff starts sellers
 * @param story tells what happens
 */
record Stage(DataSource dataSource, LockClient locks, Staff staff, Story story) {

  /** Opens a sale with this many seats. */
  BoxOffice open(String sale, int seats) throws java.sql.SQLException {
    BoxOffice boxOffice = new BoxOffice(dataSource, sale);
    boxOffice.open(seats);
    return boxOffice;
  }
}
