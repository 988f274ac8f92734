package io.holdfast.lock.examples.shop;

import io.holdfast.lock.LockException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The HTTP interface of the shop. */
@RestController
@RequestMapping("/events/{event:[a-z0-9-]{1,40}}")
class ShopController {
  private static final Logger log = LoggerFactory.getLogger(ShopController.class);

  private final BoxOffice office;
  private final Events events;
  private final Tickets tickets;

  ShopController(BoxOffice office, Events events, Tickets tickets) {
    this.office = office;
    this.events = events;
    this.tickets = tickets;
  }

  record Stock(int left, long sold) {}

  record Sale(int number) {}

  @PutMapping
  void open(@PathVariable String event, @RequestParam("tickets") int count) {
    office.open(event, count);
  }

  @GetMapping
  Stock stock(@PathVariable String event) {
    return events
        .findById(event)
        .map(found -> new Stock(found.ticketsLeft, tickets.countByEvent(event)))
        .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
  }

  /** @param purchase the key of a purchase: a repeated request buys nothing more */
  @PostMapping("/tickets")
  @ResponseStatus(HttpStatus.CREATED)
  Sale sell(@PathVariable String event, @RequestHeader("Idempotency-Key") String purchase)
      throws InterruptedException {
    return new Sale(office.sell(event, purchase));
  }

  /**
   * Answers if the lock was busy for too long, was lost, or its store failed. The ticket may have
   * been sold; the same request, sent again, is safe and will tell.
   */
  @ExceptionHandler
  ResponseEntity<String> tryAgain(LockException e) {
    log.warn("A purchase has to be tried again: {}", e.toString());
    return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
        .header(HttpHeaders.RETRY_AFTER, "1")
        .body("Try again, with the same Idempotency-Key");
  }
}
