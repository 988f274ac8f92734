package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A waiter, as the engine has it: when it is woken, it looks what it was handed, or polls. */
final class Waiting {
  final Ticket ticket;
  private final Semaphore wakeUps;

  private Waiting(Ticket ticket, Semaphore wakeUps) {
    this.ticket = ticket;
    this.wakeUps = wakeUps;
  }

  static Waiting join(JdbcStore store, Claim claim) throws Exception {
    Semaphore wakeUps = new Semaphore(0);
    Acquisition acquisition = store.acquireOrQueue(claim, wakeUps::release);
    assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
    return new Waiting(((Acquisition.Queued) acquisition).ticket(), wakeUps);
  }

  /**
   * Gets the lock, and waits for it if it must; anew, with another claim, if its turn was over: one
   * that joins late can be passed over.
   */
  static Grant acquire(JdbcStore store, Supplier<Claim> claims) throws Exception {
    while (true) {
      Semaphore wakeUps = new Semaphore(0);
      Acquisition acquisition = store.acquireOrQueue(claims.get(), wakeUps::release);
      if (acquisition instanceof Acquisition.Granted granted) {
        return granted.grant();
      }
      Ticket ticket = ((Acquisition.Queued) acquisition).ticket();
      Optional<Grant> entered = new Waiting(ticket, wakeUps).awaitEntryOrEnd();
      if (entered.isPresent()) {
        return entered.get();
      }
      ticket.close();
    }
  }

  Grant awaitGrant() throws Exception {
    Ticket.Status status = awaitEnd();
    assertThat(status).isInstanceOf(Ticket.Granted.class);
    return ((Ticket.Granted) status).grant();
  }

  /** Waits until it is woken and has the lock, without a request if it was handed over. */
  Grant awaitEntry() throws Exception {
    Optional<Grant> entered = awaitEntryOrEnd();
    assertThat(entered).as("its turn is not over").isPresent();
    return entered.get();
  }

  private Optional<Grant> awaitEntryOrEnd() throws Exception {
    while (true) {
      awaitWakeUp();
      Optional<Grant> handedOver = ticket.handedOver();
      if (handedOver.isPresent()) {
        return handedOver;
      }
      Ticket.Status status = ticket.poll();
      if (status instanceof Ticket.Granted granted) {
        return Optional.of(granted.grant());
      } else if (status instanceof Ticket.Gone) {
        return Optional.empty();
      }
    }
  }

  Ticket.Status awaitEnd() throws Exception {
    while (true) {
      awaitWakeUp();
      Ticket.Status status = ticket.poll();
      if (!(status instanceof Ticket.Waiting)) {
        return status;
      }
    }
  }

  private void awaitWakeUp() throws InterruptedException {
    assertThat(wakeUps.tryAcquire(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .as("it is woken")
        .isTrue();
  }
}
