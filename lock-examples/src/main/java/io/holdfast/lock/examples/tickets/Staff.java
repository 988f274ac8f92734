package io.holdfast.lock.examples.tickets;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;

/** All child processes. {@link #close()} ends them, and from then on none starts. */
final class Staff implements AutoCloseable {
  private static final Duration START_MAX = Duration.ofSeconds(60);

  private final Database database;
  private final Queue<Child> children = new ConcurrentLinkedQueue<>();
  private volatile boolean closed;

  Staff(Database database) {
    this.database = database;
  }

  /** Returns the orders of four sellers of one role, seller-1 to seller-4. */
  static List<Order> four(Order.Role role, String sale) {
    return IntStream.rangeClosed(1, 4)
        .mapToObj(i -> Order.of(role, "seller-" + i, sale))
        .toList();
  }

  /** Starts a process for each order, and waits until all of them are ready. */
  List<Child> start(List<Order> orders) throws IOException, InterruptedException, DemoFailure {
    List<Child> started = new ArrayList<>();
    for (Order order : orders) {
      Child child = Child.start(order, database);
      children.add(child);
      started.add(child);
      if (closed) {
        dismiss();
        throw new DemoFailure("the demo was ended");
      }
    }
    for (Child child : started) {
      child.await(Word.READY, START_MAX);
    }
    return started;
  }

  boolean isClosed() {
    return closed;
  }

  /** Ends all children. */
  void dismiss() {
    for (Child child = children.poll(); child != null; child = children.poll()) {
      child.end();
    }
  }

  /** Ends all children, for good. From any thread. */
  @Override
  public void close() {
    closed = true;
    dismiss();
  }
}
