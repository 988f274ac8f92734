package io.holdfast.lock.examples.shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An event with the tickets that are left. */
@Entity
class Event {
  @Id
  String name;

  int ticketsLeft;

  /** Called by JPA. */
  Event() {
    this("", 0);
  }

  Event(String name, int ticketsLeft) {
    this.name = name;
    this.ticketsLeft = ticketsLeft;
  }
}
