package io.holdfast.lock.examples.shop;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A ticket that was sold. No constraint of the database keeps two from having the same number: that
 * is what the lock is for here.
 */
@Entity
class Ticket {
  @Id
  @GeneratedValue
  @Nullable
  UUID id;

  String event;
  String purchase;
  int number;

  /** Called by JPA. */
  Ticket() {
    this("", "", 0);
  }

  Ticket(String event, String purchase, int number) {
    this.event = event;
    this.purchase = purchase;
    this.number = number;
  }
}
