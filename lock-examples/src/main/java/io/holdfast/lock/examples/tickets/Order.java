package io.holdfast.lock.examples.tickets;

import java.time.Duration;
import java.util.List;

/**
 * A seller's instructions, as the arguments of its process.
 *
 * @param role how it works
 * @param name what it is called
 * @param sale what it sells
 * @param slowSeat the seat whose customer takes long; 0: none
 * @param slowFor how long that customer takes
 */
record Order(Role role, String name, String sale, int slowSeat, Duration slowFor) {

  /** The way a seller works. */
  enum Role {
    /** It reads what is left, serves a customer, and writes one less. */
    WITHOUT_LOCK,
    /** As {@link #WITHOUT_LOCK}, but with the lock. */
    WITH_LOCK,
    /** As {@link #WITH_LOCK}, and the write is in a guarded transaction. */
    WITH_GUARD
  }

  static Order of(Role role, String name, String sale) {
    return new Order(role, name, sale, 0, Duration.ZERO);
  }

  Order withSlowCustomer(int seat, Duration takes) {
    return new Order(role, name, sale, seat, takes);
  }

  static Order parse(String[] arguments) {
    return new Order(
        Role.valueOf(arguments[0]),
        arguments[1],
        arguments[2],
        Integer.parseInt(arguments[3]),
        Duration.parse(arguments[4]));
  }

  List<String> arguments() {
    return List.of(role.name(), name, sale, Integer.toString(slowSeat), slowFor.toString());
  }
}
