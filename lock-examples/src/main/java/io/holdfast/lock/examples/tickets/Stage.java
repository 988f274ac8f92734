package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockClient;
import javax.sql.DataSource;

/**
 * The things that every act needs.
 *
 * @param dataSource the parent's own way to the database, to look at what was sold
 * @param locks the parent's own lock client, to look at who holds a lock
 * @param staff starts sellers
 * @param story tells what happens
 */
record Stage(DataSource dataSource, LockClient locks, Staff staff, Story story) {

  /** A sale with this many seats. */
  BoxOffice open(String sale, int seats) throws java.sql.SQLException {
    BoxOffice boxOffice = new BoxOffice(dataSource, sale);
    boxOffice.open(seats);
    return boxOffice;
  }
}
