package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.jdbc.JdbcGuard;
import io.holdfast.lock.jdbc.StaleWriteException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;

/** Sells seats of one sale until none is left. */
final class Seller {
  private static final int CUSTOMER_MILLIS_MIN = 6;
  private static final int CUSTOMER_MILLIS_MAX = 14;

  private final Order order;
  private final BoxOffice boxOffice;
  private final DistributedLock lock;
  private final boolean locksAreInTheDatabase;
  private final BiConsumer<Word, Object> tell;

  private volatile boolean hurrying;

  Seller(
      Order order,
      BoxOffice boxOffice,
      DistributedLock lock,
      boolean locksAreInTheDatabase,
      BiConsumer<Word, Object> tell) {
    this.order = order;
    this.boxOffice = boxOffice;
    this.lock = lock;
    this.locksAreInTheDatabase = locksAreInTheDatabase;
    this.tell = tell;
  }

  /** Makes no customer take long any more. From any thread. */
  void hurry() {
    hurrying = true;
  }

  void sellAll() throws SQLException, InterruptedException {
    try {
      boolean sold = true;
      while (sold) {
        sold = switch (order.role()) {
          case WITHOUT_LOCK -> sellsWithoutLock();
          case WITH_LOCK -> sellsWithLock();
          case WITH_GUARD -> locksAreInTheDatabase ? sellsWithGuard() : sellsFenced();
        };
      }
    } catch (StaleWriteException e) {
      tell.accept(Word.REFUSED, e.getMessage());
    } catch (LockLostException e) {
      // The guard refused the write, or close() found that the lease had been lost before it.
      tell.accept(order.role() == Order.Role.WITH_GUARD ? Word.REFUSED : Word.LOST, e.getMessage());
    }
  }

  /** The write of a sale. */
  private interface Sale {
    void of(int seat) throws SQLException;
  }

  /** Sells a seat, if one is left; returns whether there was one. */
  private boolean sells(Sale sale) throws SQLException, InterruptedException {
    int seat = boxOffice.seatsLeft();
    if (seat == 0) {
      return false;
    }
    serveCustomer(seat);
    sale.of(seat);
    tell.accept(Word.SOLD, seat);
    return true;
  }

  private boolean sellsWithoutLock() throws SQLException, InterruptedException {
    return sells(seat -> boxOffice.sell(seat, order.name(), 0));
  }

  private boolean sellsWithLock() throws SQLException, InterruptedException {
    try (Lease lease = lock()) {
      return sells(seat -> boxOffice.sell(seat, order.name(), lease.token()));
    }
  }

  private boolean sellsWithGuard() throws SQLException, InterruptedException {
    try (Lease lease = lock();
        JdbcGuard guard = JdbcGuard.of(lease)) {
      return sells(seat -> boxOffice.sell(seat, order.name(), lease.token(), guard));
    }
  }

  private boolean sellsFenced() throws SQLException, InterruptedException {
    try (Lease lease = lock()) {
      return sells(seat -> boxOffice.sellFenced(seat, order.name(), lease.token()));
    }
  }

  private Lease lock() throws InterruptedException {
    long askedNanos = System.nanoTime();
    Lease lease = lock.lock();
    Duration waited = Duration.ofNanos(System.nanoTime() - askedNanos);
    tell.accept(Word.HAS_LOCK, waited.toMillis() + " " + lease.crashBound().toMillis());
    return lease;
  }

  /** Takes the time between read and write, in which others can read the same number. */
  private void serveCustomer(int seat) throws InterruptedException {
    if (seat == order.slowSeat() && !hurrying) {
      tell.accept(Word.SERVES_SLOWLY, "");
      Thread.sleep(order.slowFor().toMillis());
    } else {
      Thread.sleep(
          ThreadLocalRandom.current().nextInt(CUSTOMER_MILLIS_MIN, CUSTOMER_MILLIS_MAX + 1));
    }
  }
}
