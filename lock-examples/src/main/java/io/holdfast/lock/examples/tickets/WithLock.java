package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.LockHolder;
import io.holdfast.lock.examples.tickets.Child.Said;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Act 2: four sellers with the lock, and one of them is killed while it has it. */
final class WithLock {
  private static final String SALE = "with-lock";
  private static final Duration SALE_MAX = Duration.ofSeconds(60);

  /** A time longer than this demo. */
  private static final Duration NEVER_DECIDES = Duration.ofMinutes(10);

  private static final Duration LOOK = Duration.ofMillis(5);
  private static final Duration BEFORE_KILL = Duration.ofMillis(300);

  private WithLock() {}

  static Verdict play(Stage stage, int seats) throws Exception {
    Story story = stage.story();
    story.title("Act 2: with the lock, and a crash");
    story.line("The same four sellers, but each holds the lock while it reads, serves and writes.");
    story.line("Whoever has the lock when half of the seats are sold is going to die.");

    BoxOffice boxOffice = stage.open(SALE, seats);
    List<Child> sellers = stage
        .staff()
        .start(Staff.four(Order.Role.WITH_LOCK, SALE).stream()
            .map(order -> order.withSlowCustomer(seats / 2, NEVER_DECIDES))
            .toList());
    for (Child seller : sellers) {
      seller.begin();
    }

    Child victim = whoServesSlowly(sellers);
    Duration crashBound = Duration.ofMillis(victim.heard(Word.HAS_LOCK).get(0).number(1));
    List<Child> others = new ArrayList<>(sellers);
    others.remove(victim);
    for (Child other : others) {
      other.hurry();
    }
    Thread.sleep(BEFORE_KILL.toMillis());
    victim.kill();
    long killedNanos = System.nanoTime();
    story.gap();
    story.line("%s had the lock and was serving a customer. Killed (SIGKILL).", victim.name());
    Optional<LockHolder> holder = stage.locks().get("sale/" + SALE).inspect();
    if (holder.isPresent()) {
      story.line(
          "The store still says that the lock is taken, for %s more, by",
          Story.seconds(holder.get().remaining()));
      story.line("  %s", holder.get().description());
    }

    List<Duration> waits = new ArrayList<>();
    for (Child other : others) {
      other.await(Word.DONE, SALE_MAX);
      waits.add(firstTurnAfter(killedNanos, other));
    }
    Duration blocked = Collections.min(waits);
    // After the store's bound, a waiter still has to ask the store.
    boolean inTime = blocked.compareTo(crashBound.plus(Locks.STORE_TIMEOUT)) <= 0;
    story.line(
        "The next seller had it %s after the kill%s; the bound is %s.",
        Story.seconds(blocked), inTime ? "" : ", TOO LATE", Story.seconds(crashBound));
    story.line(
        "(The last of the three had it after %s: it waited for the other two as well.)",
        Story.seconds(Collections.max(waits)));

    int sold = boxOffice.ticketsSold();
    int notRising = boxOffice.tokensThatDidNotRise();
    story.line(
        "%d tickets were sold for %d seats, and %s.",
        sold,
        boxOffice.seatsSold(),
        notRising == 0
            ? "the fencing token rose with every sale"
            : "the fencing token DID NOT RISE at " + notRising + " of them");
    boolean exact = sold == seats && boxOffice.seatsSold() == seats && notRising == 0;
    return new Verdict(
        exact && inTime,
        sold + " tickets sold for " + seats + " seats; a crash blocked the others for "
            + Story.seconds(blocked) + " (bound " + Story.seconds(crashBound) + ")");
  }

  /** Waits for the seller that has the lock when half of the seats are sold. */
  private static Child whoServesSlowly(List<Child> sellers)
      throws InterruptedException, DemoFailure {
    long untilNanos = System.nanoTime() + SALE_MAX.toNanos();
    while (System.nanoTime() - untilNanos < 0) {
      for (Child seller : sellers) {
        if (seller.listenFor(Word.SERVES_SLOWLY, LOOK).isPresent()) {
          return seller;
        }
      }
    }
    throw new DemoFailure("the seats were not half sold within " + SALE_MAX.toSeconds() + " s");
  }

  /** Returns the time from then until this seller had the lock. */
  private static Duration firstTurnAfter(long sinceNanos, Child seller) throws DemoFailure {
    for (Said turn : seller.heard(Word.HAS_LOCK)) {
      if (turn.atNanos() - sinceNanos > 0) {
        return Duration.ofNanos(turn.atNanos() - sinceNanos);
      }
    }
    throw new DemoFailure(seller.name() + " never had the lock after the kill");
  }
}
