package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * One who waits in a line.
 *
 * @param woken has a permit for each time that it was woken
 */
record Waiter(Ticket ticket, Semaphore woken) {
  static Waiter queue(LockStore store, Claim claim) throws StoreException {
    Semaphore woken = new Semaphore(0);
    return new Waiter(Stores.queue(store, claim, woken::release).ticket(), woken);
  }

  void awaitWakeUp() throws InterruptedException {
    // Sooner than a waiter would look by itself.
    assertThat(woken.tryAcquire(LineTicket.RECHECK_AFTER_MIN.toMillis() / 2, TimeUnit.MILLISECONDS))
        .as("it is woken")
        .isTrue();
  }

  Grant enter() throws Exception {
    awaitWakeUp();
    return ((Ticket.Granted) ticket.poll()).grant();
  }

  void assertWaits() throws StoreException {
    assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
  }

  void leave() throws StoreException {
    ticket.close();
  }
}
