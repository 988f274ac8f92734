package io.holdfast.lock.examples.shop;

import java.util.Optional;
import java.util.UUID;
import org.springframework.data.jpa.repository.JpaRepository;

/** All tickets that were sold. */
interface Tickets extends JpaRepository<Ticket, UUID> {
  Optional<Ticket> findByEventAndPurchase(String event, String purchase);

  long countByEvent(String event);
}
