package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Fault.Kind;
import io.holdfast.lock.torture.Finding.Rule;
import java.util.List;
import org.junit.jupiter.api.Test;

class JudgeTest {
  private static List<Rule> rules(Story story) {
    return story.judged().stream().map(Finding::rule).distinct().toList();
  }

  private static void assertViolation(Story story) {
    assertThat(story.judged()).singleElement().matches(Finding::isViolation);
  }

  private static void assertDocumented(Story story, String page) {
    assertThat(story.judged())
        .singleElement()
        .matches(finding -> !finding.isViolation())
        .matches(finding -> finding.documented().contains(page));
  }

  /** Returns evidence of a lease that was held from 10 to 50, and closed. */
  private static Story before(StoreKind store) {
    return Story.on(store)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 49, closed NORMAL 50 to 55");
  }

  @Test
  void oneAfterTheOtherIsNoFinding() {
    Story story = before(StoreKind.POSTGRES)
        .told("worker 1, asked 5, granted 200 at 52, believed 53 to 70, closed NORMAL 71 to 75");
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void twoThatBelievedAtOneTimeAreTwoHolders() {
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 60, closed LOST 61 to 62")
        .told("worker 1, asked 5, granted 200 at 52, believed 59 to 80, closed NORMAL 81 to 82");
    assertThat(rules(story)).containsExactly(Rule.TWO_HOLDERS);
    assertThat(story.judged().get(0).text()).contains("for 8.000 ms"); // from the answer at 52
  }

  @Test
  void aLeaseThatAnotherOutlastsOverlapsAllThatCameMeanwhile() {
    Story story = Story.on(StoreKind.REDIS)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 99")
        .told("worker 1, asked 20, granted 200 at 30, believed 31 to 40")
        .told("worker 2, asked 50, granted 300 at 60, believed 61 to 70");
    assertThat(story.judged())
        .extracting(Finding::rule)
        .containsExactly(Rule.TWO_HOLDERS, Rule.TWO_HOLDERS);
  }

  @Test
  void readersAreBesideEachOtherWithTokensInAnyOrder() {
    Story story = Story.on(StoreKind.REDIS)
        .told("worker 0, reading, asked 1, granted 200 at 10, believed 11 to 99")
        .told("worker 1, reading, asked 20, granted 200 at 30, believed 31 to 40")
        .told("worker 2, reading, asked 50, granted 100 at 60, believed 61 to 70");
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aReaderAndAWriterAtOneTimeAreTwoHolders() {
    Story readFirst = Story.on(StoreKind.REDIS)
        .told("worker 0, reading, asked 1, granted 100 at 10, believed 11 to 99")
        .told("worker 1, reading, asked 2, granted 100 at 11, believed 12 to 20")
        .told("worker 2, asked 20, granted 200 at 30, believed 31 to 40");
    assertThat(rules(readFirst)).containsExactly(Rule.TWO_HOLDERS);
    Story writtenFirst = Story.on(StoreKind.REDIS)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 99")
        .told("worker 1, reading, asked 20, granted 200 at 30, believed 31 to 40");
    assertThat(rules(writtenFirst)).containsExactly(Rule.TWO_HOLDERS);
  }

  @Test
  void aReadersTokenIsBetweenThoseOfTheWritersBeforeAndAfterIt() {
    String write =
        "worker 0, asked 1, granted 100 at 10, believed 11 to 20, closed NORMAL 21 to 22";
    String read =
        "worker 1, reading, asked 30, granted %s at 31, believed 32 to 40, closed NORMAL 41 to 42";
    String next =
        "worker 2, asked 50, granted 300 at 51, believed 52 to 60, closed NORMAL 61 to 62";
    for (int token : new int[] {100, 99, 300, 301}) {
      Story story =
          Story.on(StoreKind.REDIS).told(write).told(read.formatted(token)).told(next);
      assertThat(rules(story)).as("token %s", token).containsExactly(Rule.TOKEN_FELL);
    }
    Story right =
        Story.on(StoreKind.REDIS).told(write).told(read.formatted(200)).told(next);
    assertThat(right.judged()).isEmpty();
  }

  @Test
  void whatAFrozenWorkerNotesLateAccusesNobody() {
    // Frozen from 20 to 90, after it read the clock and before it asked the lease, which is lost by
    // then: the last check that said yes began at 19.
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 19, closed LOST 91 to 92")
        .told("worker 1, asked 20, granted 200 at 60, believed 61 to 70, closed NORMAL 71 to 75");
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aCloseThatReturnedSaysThatAllBeforeItWasExclusive() {
    // It checked at 11 only, and its close at 80 returned normally.
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 11, closed NORMAL 80 to 81")
        .told("worker 1, asked 20, granted 200 at 40, believed 41 to 50, closed NORMAL 51 to 52");
    assertThat(rules(story)).containsExactly(Rule.TWO_HOLDERS);
  }

  @Test
  void aReleaseThatIsOnItsWayIsNoBelief() {
    // The next one has it before the first one's close returned.
    Story story = before(StoreKind.POSTGRES)
        .told("worker 1, asked 5, granted 200 at 51, believed 51 to 70, closed NORMAL 71 to 75");
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aWorkerThatWasKilledBelievedUntilItsLastLook() {
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 30");
    assertThat(story.attempt(0).sure()).isEqualTo(new Interval(11_000_000, 30_000_000));
  }

  @Test
  void aLeaseThatWasNeverSeenToStandIsSureOfNothing() {
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 10, closed LOST 20 to 21");
    assertThat(story.attempt(0).sure()).isNull();
  }

  @Test
  void otherNamesAndAttemptsWithoutALeaseAreNoOnesBusiness() {
    Story story = before(StoreKind.POSTGRES).told("worker 1, asked 12");
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aLaterLeaseWithoutAHigherTokenIsFound() {
    Story story = before(StoreKind.POSTGRES)
        .told("worker 1, asked 5, granted 90 at 60, believed 61 to 70, closed NORMAL 71 to 75");
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void aTokenThatFellIsFoundThoughNobodyLookedAtTheLease() {
    Story story = before(StoreKind.POSTGRES).told("worker 1, asked 9, granted 99 at 60");
    assertThat(story.judged()).isEmpty(); // It may have been granted before the other's answer.
    story.told("worker 2, asked 61, granted 98 at 62");
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void oneTokenForTwoLeasesIsFound() {
    Story story = before(StoreKind.POSTGRES).told("worker 1, asked 9, granted 100 at 60");
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void anOlderTokenBehindANewerOneIsAStaleWrite() {
    Story story = Story.on(StoreKind.POSTGRES)
        .told("worker 0, asked 1, granted 100 at 2, write UNANSWERED")
        .told("worker 1, asked 3, granted 200 at 4, write DONE");
    assertThat(rules(story.logged(1, 200))).isEmpty();
    assertThat(rules(story.logged(0, 100))).containsExactly(Rule.STALE_WRITE);
  }

  @Test
  void aRefusedWriteThatIsThereIsFound() {
    Story story =
        Story.on(StoreKind.POSTGRES).told("worker 0, asked 1, granted 100 at 2, write REFUSED");
    assertThat(rules(story)).isEmpty();
    assertThat(rules(story.logged(0, 100))).containsExactly(Rule.REFUSED_WRITE_IS_THERE);
  }

  @Test
  void aConfirmedWriteThatIsGoneIsFound() {
    Story story = Story.on(StoreKind.REDIS).told("worker 0, asked 1, granted 100 at 2, write DONE");
    assertThat(rules(story)).containsExactly(Rule.CONFIRMED_WRITE_IS_GONE);
  }

  @Test
  void anExceptionThatNoPageSpeaksOfIsFound() {
    Story story = Story.on(StoreKind.REDIS).told("worker 0, asked 1, undocumented at 2");
    assertThat(rules(story)).containsExactly(Rule.UNDOCUMENTED_EXCEPTION);
  }

  private static Story twoHolders(StoreKind store) {
    return Story.on(store)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 60")
        .told("worker 1, asked 5, granted 200 at 52, believed 53 to 80");
  }

  @Test
  void twoHoldersAfterAFailoverAreDocumentedWhereThePageSaysSo() {
    assertDocumented(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(20, 40), "failover");
    // Not if the servers had settled before the first was granted, or until both had it; not for
    // the fault of a server alone; and not on a store that does not forget.
    assertViolation(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(-20, 0));
    assertViolation(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(70, 75));
    assertViolation(twoHolders(StoreKind.REDIS_SENTINEL).broke(Kind.KILL_SERVER.of(0), 20, 40));
    assertViolation(twoHolders(StoreKind.POSTGRES).unsettled(20, 40));
  }

  @Test
  void twoHoldersAfterAJumpOfAServersClockAreDocumentedWhereLeasesEndByIt() {
    for (StoreKind store : List.of(StoreKind.POSTGRES, StoreKind.REDIS, StoreKind.REDIS_QUORUM)) {
      assertDocumented(twoHolders(store).jumpedAhead(20, 21), "jumps ahead");
      // Not if it jumped before the first was granted, or when both had it already.
      assertViolation(twoHolders(store).jumpedAhead(-20, 0));
      assertViolation(twoHolders(store).jumpedAhead(70, 71));
    }
    for (StoreKind store : List.of(StoreKind.ZOOKEEPER_3, StoreKind.CONSUL)) {
      assertViolation(twoHolders(store).jumpedAhead(20, 21));
    }
  }

  @Test
  void whoBelievesInALostLeaseForLongerThanATtlIsNotExcused() {
    for (long until : new long[] {3_000, 5_000}) {
      Story story = Story.on(StoreKind.POSTGRES)
          .jumpedAhead(20, 21)
          .told("worker 0, asked 1, granted 100 at 10, believed 11 to " + until)
          .told("worker 1, asked 30, granted 200 at 40, believed 41 to 6000");
      assertThat(story.judged())
          .singleElement()
          .matches(finding -> finding.isViolation() == (until == 5_000));
    }
  }

  @Test
  void aJumpOfAServersClockExcusesNoStaleWriteAndNoTokenThatFell() {
    Story story = Story.on(StoreKind.POSTGRES)
        .jumpedAhead(3, 3)
        .broke(Kind.SET_SERVER_CLOCK.of(0, 5_000), 3, 9)
        .told("worker 0, asked 1, granted 200 at 2, write DONE")
        .told("worker 1, asked 4, granted 100 at 5, write DONE")
        .logged(0, 200)
        .logged(1, 100);
    assertThat(story.judged())
        .allMatch(Finding::isViolation)
        .extracting(Finding::rule)
        .containsExactly(Rule.TOKEN_FELL, Rule.STALE_WRITE);
  }

  @Test
  void aTokenMayFallIfTheNumberIsLostAndTheClockIsBehind() {
    Story story = before(StoreKind.REDIS_SENTINEL)
        .unsettled(20, 60)
        .told("worker 1, asked 61, granted 90 at 62");
    assertViolation(story);
    // The number that was lost can be ahead for as long as the clock was.
    assertDocumented(story.broke(Kind.SET_SERVER_CLOCK.of(0, 100), -200, -95), "token can fall");
  }

  @Test
  void aFailoverThatWasLongAgoExcusesNothing() {
    Story story = Story.on(StoreKind.REDIS_CLUSTER)
        .unsettled(20, 40)
        .told("worker 0, asked 1, granted 100 at 10, believed 11 to 9000")
        .told("worker 1, asked 5, granted 200 at 8000, believed 8001 to 8500");
    assertViolation(story);
  }

  @Test
  void aWriteThatAFailoverTookIsDocumentedIfItWasMadeMeanwhile() {
    Story story = Story.on(StoreKind.REDIS_SENTINEL)
        .told("worker 0, asked 3000, granted 100 at 3001, write DONE, closed NORMAL 3002 to 3003");
    assertViolation(story.unsettled(10, 2_000));
    assertDocumented(story.unsettled(3_500, 9_000), "failover");
  }

  /**
   * Returns evidence of a lease with a minimum hold that was closed at once, and of a later one.
   */
  private static Story minHold(long next) {
    return Story.on(StoreKind.ZOOKEEPER)
        .told("worker 0, asked 50, granted 100 at 52, keeping 500, closed NORMAL 55 to 56")
        .told("worker 1, asked 60, granted 200 at " + next);
  }

  @Test
  void aMinHoldThatWasCutShortIsFound() {
    assertThat(rules(minHold(400))).containsExactly(Rule.MIN_HOLD_CUT_SHORT);
    assertThat(minHold(560).judged()).isEmpty();
  }

  @Test
  void aMinHoldIsCutShortByAServersClockThatJumps() {
    assertDocumented(minHold(400).jumpedAhead(100, 101), "jumps ahead");
  }

  private static Story waited(long most, long until, long stalled) {
    Story story = Story.on(StoreKind.POSTGRES);
    for (int cold = 0; cold < 2 * Worker.THREADS; cold++) {
      story.told("worker 0, asked 1, waiting 0, taken at 9000"); // While classes are loaded.
    }
    return story.told(
        "worker 0, asked 1, waiting " + most + ", stalled " + stalled + ", taken at " + until);
  }

  @Test
  void aTimedWaitThatEndsTooEarlyOrTooLateIsFound() {
    assertThat(waited(1_000, 1_001, 0).judged()).isEmpty();
    assertThat(rules(waited(1_000, 999, 0))).containsExactly(Rule.TIMED_WAIT);
    assertThat(waited(1_000, 4_400, 0).judged()).isEmpty();
    assertThat(rules(waited(1_000, 4_600, 0))).containsExactly(Rule.TIMED_WAIT);
    assertThat(waited(-1, 60_000, 0).judged()).isEmpty(); // It had no limit.
  }

  @Test
  void whatAProcessDoesNotNoticeIsNotCountedAsWaiting() {
    assertThat(waited(1_000, 4_600, 500).judged()).isEmpty();
    Fault frozen = Kind.FREEZE_WORKER.of(0);
    assertThat(waited(1_000, 4_600, 0).broke(frozen, 2_000, 3_000).judged()).isEmpty();
    Fault ofAnother = Kind.FREEZE_WORKER.of(1);
    assertThat(rules(waited(1_000, 4_600, 0).broke(ofAnother, 2_000, 3_000)))
        .containsExactly(Rule.TIMED_WAIT);
  }

  @Test
  void aThreadThatIsRefusedWhatItHasIsFound() {
    for (Nested nested : Nested.values()) {
      Story story = Story.on(StoreKind.POSTGRES)
          .told("worker 0, asked 1, granted 100 at 2, believed 3 to 4, nested " + nested
              + ", closed NORMAL 5 to 6");
      assertThat(rules(story).contains(Rule.REENTRY)).isEqualTo(nested == Nested.WRONG);
    }
  }

  @Test
  void theTimelineTellsWhoBelievedWhat() {
    Story story = twoHolders(StoreKind.POSTGRES).broke(Kind.FREEZE_WORKER.of(0), 20, 40);
    Finding finding = story.judged().get(0);
    Timeline timeline = new Timeline(story.evidence(), finding);
    assertThat(timeline.text())
        .contains("TWO_HOLDERS")
        .contains("BROKEN  freeze worker 0")
        .contains("token 100, believed 11.000 to 60.000")
        .contains("token 200, believed 53.000 to 80.000");
    assertThat(timeline.svg())
        .startsWith("<svg")
        .contains("worker 1.0 thread 0")
        .endsWith("</svg>\n");
  }
}
