package io.holdfast.lock.examples.shop;

import io.holdfast.lock.spring.Locked;
import java.time.Duration;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.server.ResponseStatusException;

/**
 * Sells tickets: it reads how many are left, and writes one less when the customer has paid.
 * Without the lock, two sales at once would sell one ticket twice. (A version column would refuse
 * the second of them, after its customer has paid.)
 */
@Service
class BoxOffice {
  private final Events events;
  private final Tickets tickets;
  private final Duration payment;

  BoxOffice(Events events, Tickets tickets, @Value("${shop.payment}") Duration payment) {
    this.events = events;
    this.tickets = tickets;
    this.payment = payment;
  }

  /** Puts tickets of a new event on sale; an event that is there already stays as it is. */
  @Locked(name = "tickets/#{#event}", waitFor = "${shop.wait}", guard = true)
  @Transactional
  public void open(String event, int count) {
    if (!events.existsById(event)) {
      events.save(new Event(event, count));
    }
  }

  /**
   * Sells a ticket, and returns its number. The same purchase gets the same ticket again, so a
   * customer who had no answer can ask once more. With the guard, the sale of an instance that was
   * frozen for so long that another got the lock is rolled back.
   */
  @Locked(name = "tickets/#{#event}", waitFor = "${shop.wait}", guard = true)
  @Transactional
  public int sell(String event, String purchase) throws InterruptedException {
    Optional<Ticket> bought = tickets.findByEventAndPurchase(event, purchase);
    if (bought.isPresent()) {
      return bought.get().number;
    }
    Event found =
        events.findById(event).orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
    int number = found.ticketsLeft;
    if (number == 0) {
      throw new ResponseStatusException(HttpStatus.GONE, "Sold out");
    }
    Thread.sleep(payment.toMillis()); // The customer pays.
    found.ticketsLeft = number - 1;
    tickets.save(new Ticket(event, purchase, number));
    return number;
  }
}
