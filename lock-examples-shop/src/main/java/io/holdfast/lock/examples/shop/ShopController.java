package io.holdfast.lock.examples.shop;

import io.holdfast.lock.LockException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
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
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The shop, as its customers see it. */
@RestController
@RequestMapping("/events/{event:[a-z0-9-]{1,40}}")
class ShopController {
  private static final Logger log = LoggerFactory.getLogger(ShopController.class);

  private final BoxOffice office;

  ShopController(BoxOffice office) {
    this.office = office;
  }

  /** @param tickets the number of tickets that an event has at first */
  record Opening(int tickets) {}

  record Left(String event, int left) {}

  record Ticket(String event, int number) {}

  record Problem(@Nullable String problem) {}

  /** An event that is open already stays as it is. */
  @PutMapping
  Left open(@PathVariable String event, @RequestBody Opening opening) {
    office.open(event, opening.tickets());
    return left(event);
  }

  @GetMapping
  Left left(@PathVariable String event) {
    return new Left(event, office.left(event));
  }

  /** @param key of the purchase: a request that is repeated with it buys nothing more */
  @PostMapping("/tickets")
  @ResponseStatus(HttpStatus.CREATED)
  Ticket sell(
      @PathVariable String event,
      @RequestHeader(name = "Idempotency-Key", required = false) @Nullable String key)
      throws InterruptedException {
    String purchase = key == null ? UUID.randomUUID().toString() : key;
    return new Ticket(event, office.sell(event, purchase));
  }

  @ExceptionHandler
  @ResponseStatus(HttpStatus.NOT_FOUND)
  Problem noSuchEvent(NoSuchEventException e) {
    return new Problem(e.getMessage());
  }

  @ExceptionHandler
  @ResponseStatus(HttpStatus.CONFLICT)
  Problem soldOut(SoldOutException e) {
    return new Problem(e.getMessage());
  }

  /**
   * The lock was busy for too long, was lost, or its store failed. Whether the ticket was sold may
   * be unknown, and the same request will tell: so the answer is the same, too.
   */
  @ExceptionHandler
  ResponseEntity<Problem> busy(LockException e) {
    log.warn("A purchase has to be tried again: {}", e.toString());
    return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
        .header(HttpHeaders.RETRY_AFTER, "1")
        .body(new Problem("Try again, with the same Idempotency-Key"));
  }
}
