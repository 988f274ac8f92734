package io.holdfast.lock.examples.tickets;

import java.time.Duration;
import java.util.List;

/** Act 1: four sellers, no lock. */
final class WithoutLock {
  private static final Duration SALE_MAX = Duration.ofSeconds(60);

  private WithoutLock() {}

  static Verdict play(Stage stage, int seats) throws Exception {
    Story story = stage.story();
    story.title("Act 1: no lock");
    story.line(
        "Four JVMs sell %d seats. Each reads how many are left, serves a customer for", seats);
    story.line("about 10 ms, and writes one less.");

    BoxOffice boxOffice = stage.open("no-lock", seats);
    List<Child> sellers = stage.staff().start(Staff.four(Order.Role.WITHOUT_LOCK, "no-lock"));
    for (Child seller : sellers) {
      seller.begin();
    }
    for (Child seller : sellers) {
      seller.await(Word.DONE, SALE_MAX);
    }

    int sold = boxOffice.ticketsSold();
    story.gap();
    story.line(
        "%d tickets were sold for %d seats; one seat was sold to %d people.",
        sold, boxOffice.seatsSold(), boxOffice.mostForOneSeat());
    story.line("Two sellers read the same number before either of them wrote.");
    return new Verdict(sold > seats, sold + " tickets sold for " + seats + " seats: oversold");
  }
}
