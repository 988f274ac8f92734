package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.testsupport.Await;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.annotation.AliasFor;

/** Calls of locked methods, with locks in memory. */
class LockedTest {
  private final App app = App.start(Orders.class, Sorry.class, Stock.class, Audit.class);
  private final Orders orders = app.get(Orders.class);

  @AfterEach
  void close() {
    app.close();
  }

  @Test
  void theMethodRunsUnderTheLockThatItsParametersName() {
    assertThat(orders.run(new Order(42), () -> app.isFree("orders/42"))).isFalse();
    assertThat(app.isFree("orders/42")).isTrue();
  }

  @Test
  void otherParametersAreAnotherLock() {
    try (Lease taken = app.others.get("orders/1").tryLock().orElseThrow()) {
      assertThat(orders.run(new Order(2), () -> true)).isTrue();
      assertThat(taken.isHeld()).isTrue();
    }
  }

  @Test
  void callsThatReadRunBesideOtherReadersAndNotBesideAWriter() {
    DistributedReadWriteLock prices = ((ReadWriteClient) app.others).readWrite("prices");
    try (ReadLease other = prices.read().tryLock().orElseThrow()) {
      assertThat(orders.read(() -> prices.read().holders().size() == 2)).isTrue();
      assertThat(orders.readLater().toCompletableFuture().join()).isEqualTo("done");
      assertThat(other.isHeld()).isTrue();
    }
    try (Lease writer = prices.write().tryLock().orElseThrow()) {
      assertThatExceptionOfType(LockTimeoutException.class)
          .isThrownBy(() -> orders.read(() -> true));
      assertThat(writer.isHeld()).isTrue();
    }
    assertThatIllegalStateException()
        .isThrownBy(() -> orders.read(() -> orders.write(() -> true)))
        .withMessageContaining("owns a read");
    assertThat(orders.write(() -> orders.read(() -> true))).isTrue();
    assertThat(app.isFree("prices")).isTrue();
  }

  @Test
  void asManyCallsRunAsThereArePermits() {
    DistributedSemaphore printers = ((SemaphoreClient) app.others).semaphore("printers", 2);
    try (PermitLease one = printers.tryLock().orElseThrow()) {
      assertThat(orders.print(() -> printers.tryLock().isEmpty())).isTrue();
      try (PermitLease other = printers.tryLock().orElseThrow()) {
        assertThatExceptionOfType(LockTimeoutException.class)
            .isThrownBy(() -> orders.print(() -> true));
        assertThat(other.permit()).isNotEqualTo(one.permit());
      }
    }
    assertThat(printers.holders()).isEmpty();
  }

  @Test
  void aBusyLockIsAnException() {
    try (Lease taken = app.others.get("orders/1").tryLock().orElseThrow()) {
      assertThatExceptionOfType(LockTimeoutException.class)
          .isThrownBy(() -> orders.run(new Order(1), () -> true))
          .withMessageContaining("orders/1");
      assertThat(taken.isHeld()).isTrue();
    }
  }

  @Test
  void aCallWaitsForTheLockIfToldTo() throws Exception {
    Lease taken = app.others.get("patient").tryLock().orElseThrow();
    CompletableFuture<String> call = CompletableFuture.supplyAsync(orders::patient);
    Await.until(
        "it waits",
        () -> app.others.list("patient", 1).get(0).waiting().orElse(0) > 0 || call.isDone());
    assertThat(call).isNotDone();
    taken.close();
    assertThat(call.get(20, TimeUnit.SECONDS)).isEqualTo("done");
  }

  @Test
  void aSkippedCallReturnsNothingAndDoesNothing() {
    try (Lease taken = app.others.get("skipped").tryLock().orElseThrow()) {
      orders.skippedVoid();
      assertThat(orders.skippedOptional()).isEmpty();
      assertThat(orders.skippedWrapper()).isNull();
      assertThat(orders.skippedStage().join()).isEmpty();
      assertThat(orders.runs()).isZero();
      assertThat(taken.isHeld()).isTrue();
    }
    orders.skippedVoid();
    assertThat(orders.runs()).isEqualTo(1);
  }

  @Test
  void aHandlerDecidesWhatABusyCallReturns() {
    try (Lease taken = app.others.get("handled/7").tryLock().orElseThrow()) {
      assertThat(orders.handled("7")).isEqualTo("handled/7 is busy for [7]");
      assertThatIllegalStateException()
          .isThrownBy(() -> orders.handledWrongly("7"))
          .withMessageContaining("Sorry")
          .withMessageContaining("int");
      assertThat(taken.isHeld()).isTrue();
    }
    assertThat(orders.handled("7")).isEqualTo("done");
  }

  @Test
  void aNameThatIsNullOrEmptyLocksNothing() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> orders.handled(null))
        .withMessageContaining("#{#id}")
        .withMessageContaining("is null");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> orders.handled(""))
        .withMessageContaining("empty text");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> orders.run(null, () -> true))
        .withMessageContaining("#{#order.id}");
  }

  @Test
  void theLockIsFreeAfterAnException() {
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> orders.run(new Order(3), () -> {
          throw new UnsupportedOperationException("made up");
        }));
    assertThat(app.isFree("orders/3")).isTrue();
  }

  @Test
  void aThreadMayCallAnotherMethodOfTheSameLock() {
    assertThat(orders.run(new Order(4), () -> orders.run(new Order(4), () -> true)))
        .isTrue();
  }

  @Test
  void aLostLeaseIsAnExceptionAfterTheMethod() {
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> orders.run(
            new Order(5),
            () -> app.others
                .get("orders/5")
                .forceRelease(app.others.get("orders/5").inspect().orElseThrow().token())));
  }

  @Test
  void theThreadIsInterruptedAtTheLossAndToldSo() {
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(orders::interruptedAtLoss)
        .satisfies(lost ->
            assertThat(lost.getSuppressed()).hasExactlyElementsOfTypes(InterruptedException.class));
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }

  @Test
  void aMethodThatReturnsAllTheSameIsToldOfTheLossAndItsThreadIsNotInterruptedAnyMore() {
    assertThatExceptionOfType(LockLostException.class).isThrownBy(orders::deafAtLoss);
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }

  @Test
  void anInterruptWhileWaitingIsAnExceptionAndTheThreadStaysInterrupted() {
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(LockInterruptedException.class)
        .isThrownBy(orders::patient)
        .withCauseInstanceOf(InterruptedException.class);
    assertThat(Thread.interrupted()).isTrue();
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(InterruptedException.class).isThrownBy(orders::patientDeclared);
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void theLockIsHeldUntilTheStageIsComplete() throws Exception {
    CompletableFuture<String> work = new CompletableFuture<>();
    CompletableFuture<String> result = orders.stage(work).toCompletableFuture();
    assertThat(app.isFree("stage")).isFalse();
    assertThat(result).isNotDone();
    work.complete("built");
    assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo("built");
    assertThat(app.isFree("stage")).isTrue();
  }

  @Test
  void cancellingTheResultDoesNotReleaseTheLock() throws Exception {
    CompletableFuture<String> work = new CompletableFuture<>();
    assertThat(orders.stage(work).toCompletableFuture().cancel(true)).isTrue();
    assertThat(app.isFree("stage")).isFalse();
    work.complete("built");
    Await.until("it is free", () -> app.isFree("stage"));
  }

  @Test
  void aStageThatFailsReleasesTheLock() {
    CompletableFuture<String> work = new CompletableFuture<>();
    CompletionStage<String> result = orders.stage(work);
    work.completeExceptionally(new UnsupportedOperationException("made up"));
    assertThatExceptionOfType(ExecutionException.class)
        .isThrownBy(() -> result.toCompletableFuture().get(20, TimeUnit.SECONDS))
        .withCauseInstanceOf(UnsupportedOperationException.class);
    assertThat(app.isFree("stage")).isTrue();
  }

  @Test
  void aStageFailsIfItsLeaseWasLost() {
    CompletableFuture<String> work = new CompletableFuture<>();
    CompletionStage<String> result = orders.stage(work);
    assertThat(app.others
            .get("stage")
            .forceRelease(app.others.get("stage").inspect().orElseThrow().token()))
        .isTrue();
    work.complete("built");
    assertThatExceptionOfType(CompletionException.class)
        .isThrownBy(() -> result.toCompletableFuture().join())
        .withCauseInstanceOf(LockLostException.class);
  }

  @Test
  void aStageMethodThatThrowsOrReturnsNullReleasesTheLock() {
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> orders.failingStage(true));
    assertThat(app.isFree("failing")).isTrue();
    assertThat(orders.failingStage(false)).isNull();
    assertThat(app.isFree("failing")).isTrue();
  }

  @Test
  void aStageThatCannotBeWaitedForReleasesTheLock() {
    CompletableFuture<String> broken = new CompletableFuture<>() {
      @Override
      public CompletableFuture<String> whenComplete(
          BiConsumer<? super String, ? super Throwable> action) {
        throw new UnsupportedOperationException("made up");
      }
    };
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> orders.stage(broken));
    assertThat(app.isFree("stage")).isTrue();
  }

  @Test
  void workThatGoesOnBehindAPlainTypeIsRefusedLoudly() {
    assertThatIllegalStateException()
        .isThrownBy(() -> orders.hidden(new CompletableFuture<>()))
        .withMessageContaining("declare CompletionStage");
    assertThat(orders.hidden(CompletableFuture.completedFuture("done"))).isNotNull();
  }

  @Test
  void theAnnotationOfAnInterfaceOrAClassOrOfOnesOwnCounts() {
    assertThat(app.get(Counting.class).count(() -> app.isFree("stock"))).isFalse();
    assertThat(app.get(Audit.class).write(() -> app.isFree("audit"))).isFalse();
    assertThat(app.get(Audit.class).writeElsewhere(() -> app.isFree("elsewhere")))
        .isFalse();
  }

  @Test
  void theClientIsClosedAfterTheBeansThatUseIt() throws Exception {
    CountDownLatch destroyed = new CountDownLatch(1);
    orders.atEnd(() -> {
      if (orders.run(new Order(6), () -> true)) {
        destroyed.countDown();
      }
    });
    app.context.close();
    assertThat(destroyed.await(0, TimeUnit.SECONDS)).isTrue();
  }

  interface Question {
    boolean ask();
  }

  record Order(long id) {}

  static class Orders {
    private int runs;
    private Runnable atEnd = () -> {};

    // The proxy has fields of its own, which are not these.
    int runs() {
      return runs;
    }

    void atEnd(Runnable action) {
      atEnd = action;
    }

    @Locked("orders/#{#order.id}")
    boolean run(Order order, Question question) {
      return question.ask();
    }

    @Locked(name = "prices", read = true)
    boolean read(Question question) {
      return question.ask();
    }

    @Locked(name = "prices", read = true)
    CompletionStage<String> readLater() {
      return CompletableFuture.completedFuture("done");
    }

    @Locked("prices")
    boolean write(Question question) {
      return question.ask();
    }

    @Locked(name = "printers", permits = 2)
    boolean print(Question question) {
      return question.ask();
    }

    @Locked(name = "patient", waitFor = "${patience:20s}")
    String patient() {
      return "done";
    }

    @Locked(name = "patient", waitFor = "PT20S")
    String patientDeclared() throws InterruptedException {
      return "done";
    }

    @Locked(name = "skipped", whenBusy = WhenBusy.SKIP)
    void skippedVoid() {
      runs++;
    }

    @Locked(name = "skipped", whenBusy = WhenBusy.SKIP)
    Optional<String> skippedOptional() {
      runs++;
      return Optional.of("done");
    }

    @Locked(name = "skipped", whenBusy = WhenBusy.SKIP)
    Integer skippedWrapper() {
      return ++runs;
    }

    @Locked(name = "skipped", whenBusy = WhenBusy.SKIP)
    CompletableFuture<Optional<String>> skippedStage() {
      runs++;
      return CompletableFuture.completedFuture(Optional.of("done"));
    }

    @Locked(name = "handled/#{#id}", busyHandler = Sorry.class)
    String handled(String id) {
      return "done";
    }

    @Locked(name = "handled/#{#id}", busyHandler = Sorry.class)
    int handledWrongly(String id) {
      return 1;
    }

    @Locked(name = "at-loss", ttl = "2s", mode = LeaseMode.FIXED, whenLost = WhenLost.INTERRUPT)
    void interruptedAtLoss() throws InterruptedException {
      new CountDownLatch(1).await(30, TimeUnit.SECONDS);
    }

    @Locked(name = "at-loss", ttl = "2s", mode = LeaseMode.FIXED, whenLost = WhenLost.INTERRUPT)
    boolean deafAtLoss() {
      while (!Thread.currentThread().isInterrupted()) {
        Thread.onSpinWait();
      }
      return true;
    }

    @Locked("stage")
    CompletionStage<String> stage(CompletionStage<String> work) {
      return work;
    }

    @Locked("failing")
    CompletionStage<String> failingStage(boolean throwing) {
      if (throwing) {
        throw new UnsupportedOperationException("made up");
      }
      return null;
    }

    @Locked("hidden")
    Object hidden(Object result) {
      return result;
    }

    public void close() {
      atEnd.run();
    }
  }

  static class Sorry implements BusyHandler {
    @Override
    public Object onBusy(BusyCall call) {
      assertThat(call.timeout().lockName()).isEqualTo(call.lockName());
      return call.lockName() + " is busy for " + call.arguments();
    }
  }

  interface Counting {
    @Locked("stock")
    boolean count(Question question);
  }

  static class Stock implements Counting {
    @Override
    public boolean count(Question question) {
      return question.ask();
    }
  }

  @Target(ElementType.METHOD)
  @Retention(RetentionPolicy.RUNTIME)
  @Locked(waitFor = "1s")
  @interface Once {
    @AliasFor(annotation = Locked.class, attribute = "name")
    String value();
  }

  @Locked("audit")
  static class Audit {
    public boolean write(Question question) {
      return read(question) && List.of(question).size() == 1;
    }

    public boolean read(Question question) {
      return question.ask();
    }

    @Once("elsewhere")
    public boolean writeElsewhere(Question question) {
      return question.ask();
    }
  }
}
