package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Nested;
import io.holdfast.lock.torture.Attempt.Write;
import io.holdfast.lock.torture.Fault.Kind;
import io.holdfast.lock.torture.Finding.Rule;
import java.util.List;
import org.junit.jupiter.api.Test;

class JudgeTest {
  private static List<Rule> rules(Story story) {
    return story.judged().stream().map(Finding::rule).distinct().toList();
  }

  /** One that held from 10 to 50, and closed. */
  private static Story before(StoreKind store) {
    return Story.on(store)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 49)
        .closed(Closing.NORMAL, 50, 55)
        .told();
  }

  @Test
  void oneAfterTheOtherIsNoFinding() {
    Story story = before(StoreKind.POSTGRES)
        .worker(1)
        .asked(5)
        .got(200, 52)
        .believed(53, 70)
        .closed(Closing.NORMAL, 71, 75)
        .told();
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void twoThatBelievedAtOneTimeAreTwoHolders() {
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 60)
        .closed(Closing.LOST, 61, 62)
        .told()
        .worker(1)
        .asked(5)
        .got(200, 52)
        .believed(59, 80)
        .closed(Closing.NORMAL, 81, 82)
        .told();
    assertThat(rules(story)).containsExactly(Rule.TWO_HOLDERS);
    assertThat(story.judged().get(0).text()).contains("for 8.000 ms"); // from the answer at 52
  }

  @Test
  void aLeaseThatAnotherOutlastsOverlapsAllThatCameMeanwhile() {
    Story story = Story.on(StoreKind.REDIS)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 99)
        .told()
        .worker(1)
        .asked(20)
        .got(200, 30)
        .believed(31, 40)
        .told()
        .worker(2)
        .asked(50)
        .got(300, 60)
        .believed(61, 70)
        .told();
    assertThat(story.judged())
        .extracting(Finding::rule)
        .containsExactly(Rule.TWO_HOLDERS, Rule.TWO_HOLDERS);
  }

  @Test
  void whatAFrozenWorkerNotesLateAccusesNobody() {
    // Frozen from 20 to 90, after it asked its clock and before it asked the lease: what it is
    // told then is no, and the last look that said yes began at 19.
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 19)
        .closed(Closing.LOST, 91, 92)
        .told()
        .worker(1)
        .asked(20)
        .got(200, 60)
        .believed(61, 70)
        .closed(Closing.NORMAL, 71, 75)
        .told();
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aCloseThatReturnedSaysThatAllBeforeItWasExclusive() {
    // It looked at 11 alone, and closed at 80 as if all had been well.
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 11)
        .closed(Closing.NORMAL, 80, 81)
        .told()
        .worker(1)
        .asked(20)
        .got(200, 40)
        .believed(41, 50)
        .closed(Closing.NORMAL, 51, 52)
        .told();
    assertThat(rules(story)).containsExactly(Rule.TWO_HOLDERS);
  }

  @Test
  void aReleaseThatIsOnItsWayIsNoBelief() {
    // The next one has it before the first one's close returned.
    Story story = before(StoreKind.POSTGRES)
        .worker(1)
        .asked(5)
        .got(200, 51)
        .believed(51, 70)
        .closed(Closing.NORMAL, 71, 75)
        .told();
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aWorkerThatWasKilledBelievedUntilItsLastLook() {
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 30)
        .told();
    assertThat(story.attempt(0).sure()).isEqualTo(new Interval(11_000_000, 30_000_000));
  }

  @Test
  void aLeaseThatWasNeverSeenToStandIsSureOfNothing() {
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .closed(Closing.LOST, 20, 21)
        .told();
    assertThat(story.attempt(0).sure()).isNull();
  }

  @Test
  void otherNamesAndAttemptsWithoutALeaseAreNoOnesBusiness() {
    Story story = before(StoreKind.POSTGRES).worker(1).asked(12).told();
    assertThat(story.judged()).isEmpty();
  }

  @Test
  void aLaterLeaseWithoutAHigherTokenIsFound() {
    Story story = before(StoreKind.POSTGRES)
        .worker(1)
        .asked(5)
        .got(90, 60)
        .believed(61, 70)
        .closed(Closing.NORMAL, 71, 75)
        .told();
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void aTokenThatFellIsFoundThoughNobodyLookedAtTheLease() {
    Story story = before(StoreKind.POSTGRES).worker(1).asked(9).got(99, 60).told();
    assertThat(story.judged()).isEmpty(); // It may have been granted before the other's answer.
    story.worker(2).asked(61).got(98, 62).told();
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void oneTokenForTwoLeasesIsFound() {
    Story story = before(StoreKind.POSTGRES).worker(1).asked(9).got(100, 60).told();
    assertThat(rules(story)).containsExactly(Rule.TOKEN_FELL);
  }

  @Test
  void anOlderTokenBehindANewerOneIsAStaleWrite() {
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 2)
        .wrote(Write.UNANSWERED)
        .told()
        .worker(1)
        .asked(3)
        .got(200, 4)
        .wrote(Write.DONE)
        .told();
    assertThat(rules(story.logged(1, 200))).isEmpty();
    assertThat(rules(story.logged(0, 100))).containsExactly(Rule.STALE_WRITE);
  }

  @Test
  void aRefusedWriteThatIsThereIsFound() {
    Story story = Story.on(StoreKind.POSTGRES)
        .worker(0)
        .asked(1)
        .got(100, 2)
        .wrote(Write.REFUSED)
        .told();
    assertThat(rules(story)).isEmpty();
    assertThat(rules(story.logged(0, 100))).containsExactly(Rule.REFUSED_WRITE_IS_THERE);
  }

  @Test
  void aConfirmedWriteThatIsGoneIsFound() {
    Story story = Story.on(StoreKind.REDIS)
        .worker(0)
        .asked(1)
        .got(100, 2)
        .wrote(Write.DONE)
        .told();
    assertThat(rules(story)).containsExactly(Rule.CONFIRMED_WRITE_IS_GONE);
  }

  @Test
  void anExceptionThatNoPageSpeaksOfIsFound() {
    Story story = Story.on(StoreKind.REDIS).worker(0).asked(1).threw(2).told();
    assertThat(rules(story)).containsExactly(Rule.UNDOCUMENTED_EXCEPTION);
  }

  private static Story twoHolders(StoreKind store) {
    return Story.on(store)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 60)
        .told()
        .worker(1)
        .asked(5)
        .got(200, 52)
        .believed(53, 80)
        .told();
  }

  @Test
  void twoHoldersAfterAFailoverAreDocumentedWhereThePageSaysSo() {
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(20, 40).judged())
        .singleElement()
        .matches(finding -> !finding.isViolation());
    // Not if the servers had settled before the first was granted, or until both had it; not for
    // the fault of a server alone; and not on a store that does not forget.
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(-20, 0).judged())
        .singleElement()
        .matches(Finding::isViolation);
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL).unsettled(70, 75).judged())
        .singleElement()
        .matches(Finding::isViolation);
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL)
            .broke(Kind.KILL_SERVER.of(0), 20, 40)
            .judged())
        .singleElement()
        .matches(Finding::isViolation);
    assertThat(twoHolders(StoreKind.POSTGRES).unsettled(20, 40).judged())
        .singleElement()
        .matches(Finding::isViolation);
  }

  @Test
  void twoHoldersAfterAJumpOfAServersClockAreDocumentedWhereLeasesEndByIt() {
    for (StoreKind store : List.of(StoreKind.POSTGRES, StoreKind.REDIS, StoreKind.REDIS_QUORUM)) {
      assertThat(twoHolders(store).jumpedAhead(20, 21).judged())
          .singleElement()
          .matches(finding -> finding.documented().contains("jumps ahead"));
      // Not if it jumped before the first was granted, or when both had it already.
      assertThat(twoHolders(store).jumpedAhead(-20, 0).judged())
          .singleElement()
          .matches(Finding::isViolation);
      assertThat(twoHolders(store).jumpedAhead(70, 71).judged())
          .singleElement()
          .matches(Finding::isViolation);
    }
    for (StoreKind store : List.of(StoreKind.ZOOKEEPER_3, StoreKind.CONSUL)) {
      assertThat(twoHolders(store).jumpedAhead(20, 21).judged())
          .singleElement()
          .matches(Finding::isViolation);
    }
  }

  @Test
  void whoBelievesInALostLeaseForLongerThanATtlIsNotExcused() {
    for (long until : new long[] {3_000, 5_000}) {
      Story story = Story.on(StoreKind.POSTGRES)
          .jumpedAhead(20, 21)
          .worker(0)
          .asked(1)
          .got(100, 10)
          .believed(11, until)
          .told()
          .worker(1)
          .asked(30)
          .got(200, 40)
          .believed(41, 6_000)
          .told();
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
        .worker(0)
        .asked(1)
        .got(200, 2)
        .wrote(Write.DONE)
        .told()
        .worker(1)
        .asked(4)
        .got(100, 5)
        .wrote(Write.DONE)
        .told()
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
        .worker(1)
        .asked(61)
        .got(90, 62)
        .told();
    assertThat(story.judged()).singleElement().matches(Finding::isViolation);
    // The number that was lost can be ahead for as long as the clock was.
    assertThat(story.broke(Kind.SET_SERVER_CLOCK.of(0, 100), -200, -95).judged())
        .singleElement()
        .matches(finding -> finding.documented().contains("token can fall"));
  }

  @Test
  void aFailoverThatWasLongAgoExcusesNothing() {
    Story story = Story.on(StoreKind.REDIS_CLUSTER)
        .unsettled(20, 40)
        .worker(0)
        .asked(1)
        .got(100, 10)
        .believed(11, 9_000)
        .told()
        .worker(1)
        .asked(5)
        .got(200, 8_000)
        .believed(8_001, 8_500)
        .told();
    assertThat(story.judged()).singleElement().matches(Finding::isViolation);
  }

  @Test
  void aWriteThatAFailoverTookIsDocumentedIfItWasMadeMeanwhile() {
    Story story = Story.on(StoreKind.REDIS_SENTINEL)
        .worker(0)
        .asked(3_000)
        .got(100, 3_001)
        .wrote(Write.DONE)
        .closed(Closing.NORMAL, 3_002, 3_003)
        .told();
    assertThat(story.unsettled(10, 2_000).judged()).singleElement().matches(Finding::isViolation);
    assertThat(story.unsettled(3_500, 9_000).judged())
        .singleElement()
        .matches(finding -> !finding.isViolation());
  }

  @Test
  void aMinHoldThatWasCutShortIsFound() {
    for (long next : new long[] {400, 560}) {
      Story story = Story.on(StoreKind.POSTGRES)
          .worker(0)
          .asked(50)
          .got(100, 52)
          .keeping(500)
          .believed(53, 54)
          .closed(Closing.NORMAL, 55, 56)
          .told()
          .worker(1)
          .asked(60)
          .got(200, next)
          .told();
      if (next == 400) {
        assertThat(rules(story)).containsExactly(Rule.MIN_HOLD_CUT_SHORT);
      } else {
        assertThat(story.judged()).isEmpty();
      }
    }
  }

  @Test
  void aMinHoldIsCutShortByAServersClockThatJumps() {
    Story story = Story.on(StoreKind.ZOOKEEPER)
        .jumpedAhead(100, 101)
        .worker(0)
        .asked(50)
        .got(100, 52)
        .keeping(500)
        .told()
        .worker(1)
        .asked(60)
        .got(200, 400)
        .told();
    assertThat(story.judged())
        .singleElement()
        .matches(finding -> finding.documented().contains("jumps ahead"));
  }

  private static Story waited(long most, long until, long stalled) {
    Story story = Story.on(StoreKind.POSTGRES);
    for (int cold = 0; cold < 2 * Worker.THREADS; cold++) {
      story.worker(0).asked(1).waiting(0).taken(9_000).told(); // While classes are loaded.
    }
    return story.worker(0).asked(1).waiting(most).stalled(stalled).taken(until).told();
  }

  @Test
  void aTimedWaitThatEndsTooEarlyOrTooLateIsFound() {
    assertThat(waited(1_000, 1_001, 0).judged()).isEmpty();
    assertThat(rules(waited(1_000, 999, 0))).containsExactly(Rule.TIMED_WAIT);
    assertThat(waited(1_000, 4_400, 0).judged()).isEmpty();
    assertThat(rules(waited(1_000, 4_600, 0))).containsExactly(Rule.TIMED_WAIT);
    assertThat(waited(-1, 60_000, 0).judged()).isEmpty(); // It was to wait for ever.
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
          .worker(0)
          .asked(1)
          .got(100, 2)
          .believed(3, 4)
          .askedAgain(nested)
          .closed(Closing.NORMAL, 5, 6)
          .told();
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
