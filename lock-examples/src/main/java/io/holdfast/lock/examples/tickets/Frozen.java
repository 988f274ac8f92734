package io.holdfast.lock.examples.tickets;

import java.time.Duration;
import java.util.List;

/** Act 3: two sellers freeze while they have a lock; one of them writes under a guard. */
final class Frozen {
  private static final Duration MAX = Duration.ofSeconds(30);

  /** The time for a slow customer: enough to freeze the seller, and far below the TTL. */
  private static final Duration DECIDES_SLOWLY = Duration.ofMillis(2_500);

  private Frozen() {}

  static Verdict play(Stage stage) throws Exception {
    Story story = stage.story();
    story.title("Act 3: a seller freezes (a long GC pause, a suspended machine) and wakes up");
    story.line(
        "Two shows have one seat left each. A seller has the lock of its show and is about to");
    story.line("sell the seat. seller-1 simply writes; seller-2 writes under a guard.");

    BoxOffice plain = stage.open("frozen", 1);
    BoxOffice guarded = stage.open("frozen-guarded", 1);
    List<Child> children = stage
        .staff()
        .start(List.of(
            Order.of(Order.Role.WITH_LOCK, "seller-1", "frozen")
                .withSlowCustomer(1, DECIDES_SLOWLY),
            Order.of(Order.Role.WITH_GUARD, "seller-2", "frozen-guarded")
                .withSlowCustomer(1, DECIDES_SLOWLY),
            Order.of(Order.Role.WITH_LOCK, "seller-3", "frozen"),
            Order.of(Order.Role.WITH_LOCK, "seller-4", "frozen-guarded")));
    List<Child> frozen = children.subList(0, 2);
    List<Child> rivals = children.subList(2, 4);

    for (Child child : frozen) {
      child.begin();
    }
    for (Child child : frozen) {
      child.await(Word.SERVES_SLOWLY, MAX);
      child.freeze();
    }
    long frozenNanos = System.nanoTime();
    story.gap();
    story.line("Both are frozen (SIGSTOP). seller-3 and seller-4 want the same locks.");
    for (Child rival : rivals) {
      rival.begin();
    }
    for (Child rival : rivals) {
      rival.await(Word.SOLD, MAX);
    }
    Duration takenOver = Duration.ofNanos(System.nanoTime() - frozenNanos);
    story.line(
        "They have them after %s (TTL %s), and sell both seats.",
        Story.seconds(takenOver), Story.seconds(Locks.TTL));

    story.line("The frozen ones are woken (SIGCONT). For all they know, no time has passed:");
    for (Child child : frozen) {
      child.wake();
    }
    for (Child child : frozen) {
      child.await(Word.DONE, MAX);
    }
    boolean plainWrote = plain.ticketsSold() == 2;
    story.line(
        "  seller-1, plain:   %s",
        plainWrote
            ? "its write went through; the seat is sold twice."
            : "its write DID NOT go through; something stopped it.");
    for (Child.Said lost : frozen.get(0).heard(Word.LOST)) {
      story.line("                     Too late, close() says: %s", lost.rest());
    }
    boolean refused = !frozen.get(1).heard(Word.REFUSED).isEmpty() && guarded.ticketsSold() == 1;
    story.line(
        "  seller-2, guarded: %s",
        refused
            ? "its write was refused; the seat is sold once."
            : "its write WENT THROUGH; the seat is sold twice.");
    for (Child.Said why : frozen.get(1).heard(Word.REFUSED)) {
      story.line("                     %s", why.rest());
    }
    return new Verdict(
        plainWrote && refused,
        "the stale write " + (refused ? "was refused by the guard" : "WENT THROUGH the guard")
            + "; without a guard it " + (plainWrote ? "went through" : "DID NOT go through"));
  }
}
