package io.holdfast.lock.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.torture.Attempt.Closing;
import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Attempt.Write;
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
    Fault killed = new Fault.KillServer(0);
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL).broke(killed, 20, 40).judged())
        .singleElement()
        .matches(finding -> !finding.isViolation());
    // Not without a server's fault before it, and not on a store that does not forget.
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL)
            .broke(new Fault.FreezeWorker(0), 20, 40)
            .judged())
        .singleElement()
        .matches(Finding::isViolation);
    assertThat(twoHolders(StoreKind.REDIS_SENTINEL).broke(killed, 70, 75).judged())
        .singleElement()
        .matches(Finding::isViolation);
    assertThat(twoHolders(StoreKind.POSTGRES).broke(killed, 20, 40).judged())
        .singleElement()
        .matches(Finding::isViolation);
  }

  @Test
  void theTimelineTellsWhoBelievedWhat() {
    Story story = twoHolders(StoreKind.POSTGRES).broke(new Fault.FreezeWorker(0), 20, 40);
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
