package io.holdfast.lock.examples.shop;

import io.holdfast.lock.spring.Locked;
import java.time.Duration;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * The tickets of all events. It sells like a naive program does: what is left is read first and
 * written back a moment later. Without the lock, two sales at once would sell one ticket twice.
 */
@Service
class BoxOffice {
  private final JdbcClient jdbc;
  private final String seller;
  private final Duration moment;

  BoxOffice(
      JdbcClient jdbc,
      @Value("${holdfast.client-name:shop}") String seller,
      @Value("${shop.moment}") Duration moment) {
    this.jdbc = jdbc;
    this.seller = seller;
    this.moment = moment;
  }

  /** Puts tickets of an event on sale, if it is a new one. */
  void open(String event, int tickets) {
    jdbc.sql("INSERT INTO event VALUES (?, ?) ON CONFLICT DO NOTHING")
        .params(event, tickets)
        .update();
  }

  /** Returns the number of tickets that are left. */
  int left(String event) {
    return jdbc.sql("SELECT tickets_left FROM event WHERE name = ?")
        .param(event)
        .query(Integer.class)
        .optional()
        .orElseThrow(() -> new NoSuchEventException(event));
  }

  /**
   * Sells a ticket, and returns its number. The same purchase gets the same ticket again, so a
   * customer who had no answer can ask once more.
   *
   * @throws SoldOutException no ticket is left
   */
  @Locked(name = "tickets/#{#event}", waitFor = "${shop.wait}", guard = true)
  @Transactional
  public int sell(String event, String purchase) throws InterruptedException {
    List<Integer> bought = jdbc.sql("SELECT number FROM ticket WHERE event = ? AND purchase = ?")
        .params(event, purchase)
        .query(Integer.class)
        .list();
    if (!bought.isEmpty()) {
      return bought.get(0);
    }
    Object began = jdbc.sql("SELECT clock_timestamp()").query().singleValue();
    int number = left(event);
    if (number == 0) {
      throw new SoldOutException(event);
    }
    Thread.sleep(moment.toMillis()); // A payment, for example.
    jdbc.sql("UPDATE event SET tickets_left = ? WHERE name = ?")
        .params(number - 1, event)
        .update();
    jdbc.sql("INSERT INTO ticket VALUES (?, ?, ?, ?, ?, clock_timestamp())")
        .params(event, number, purchase, seller, began)
        .update();
    return number;
  }
}
