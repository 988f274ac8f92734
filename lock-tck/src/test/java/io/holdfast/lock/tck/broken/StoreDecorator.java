package io.holdfast.lock.tck.broken;

import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.internal.ForwardingStore;
import java.util.Optional;

/** Passes everything on. A bug overrides the method that it is in. */
class StoreDecorator extends ForwardingStore {
  StoreDecorator(LockStore store) {
    super(store);
  }

  /** A ticket that passes everything on. */
  static class TicketDecorator implements Ticket {
    final Ticket ticket;

    TicketDecorator(Ticket ticket) {
      this.ticket = ticket;
    }

    @Override
    public Status poll() throws StoreException {
      return ticket.poll();
    }

    @Override
    public Optional<String> holder() {
      return ticket.holder();
    }

    @Override
    public void close() throws StoreException {
      ticket.close();
    }
  }
}
