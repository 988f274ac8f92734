package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.tck.GuardedWrites;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Each rule about several names has been seen to fail, on joint locks with its bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenJointLocksTest {

  /** A client whose joint locks are made by this. */
  private static BrokenFixture joint(Joint bug) {
    return BrokenFixture.client(ClientDecorator.ofClient(Map.of("all", (real, arguments, call) -> {
      Collection<?> names = (Collection<?>) arguments[0];
      DistributedLock made =
          bug.make((LockClient) real, names.stream().map(String.class::cast).toList());
      return made == null ? call.proceed(arguments) : made;
    })));
  }

  private interface Joint {
    /** Returns null for the real one. */
    DistributedLock make(LockClient client, List<String> names);
  }

  /** Acquires one lock after the other, in the caller's order; may forget to give back. */
  private static DistributedLock naive(LockClient client, List<String> names, boolean givesBack) {
    return (DistributedLock) Proxy.newProxyInstance(
        DistributedLock.class.getClassLoader(),
        new Class<?>[] {DistributedLock.class},
        (proxy, method, arguments) -> {
          if (!method.getName().equals("tryLock")) {
            return "naive";
          }
          List<Lease> leases = new ArrayList<>();
          for (String name : names) {
            DistributedLock lock = client.get(name);
            Optional<Lease> lease =
                arguments == null ? lock.tryLock() : lock.tryLock((Duration) arguments[0]);
            if (lease.isEmpty()) {
              if (givesBack) {
                leases.forEach(Lease::close);
              }
              return lease;
            }
            leases.add(lease.get());
            // For another to come in between.
            TimeUnit.MILLISECONDS.sleep(20);
          }
          return Optional.of(jointly(leases));
        });
  }

  private static Lease jointly(List<Lease> leases) {
    return (Lease) Proxy.newProxyInstance(
        Lease.class.getClassLoader(), new Class<?>[] {Lease.class}, (proxy, method, arguments) -> {
          leases.forEach(Lease::close);
          return null;
        });
  }

  @Test
  void aJointLockOfNoNameIsCaught() {
    assertCaught(
        joint((client, names) -> names.isEmpty() ? client.get("none") : null),
        "L-12.1",
        "namesThatCanNotBeTakenAreRefused",
        "all() of 0 names");
  }

  @Test
  void aJointLockOfTheFirstNameIsCaught() {
    assertCaught(
        joint((client, names) -> client.get(names.get(0))),
        "L-12.2",
        "aJointLeaseExcludesTheLocksOfEachOfItsNames",
        "a joint lease has it");
  }

  @Test
  void aJointLockInTheCallersOrderIsCaught() {
    assertCaught(
        joint((client, names) -> naive(client, names, true)),
        "L-12.2",
        "callersThatNameTheLocksInAnyOrderAllGetTheirTurn",
        "another thread");
  }

  @Test
  void aJointLockThatKeepsWhatItHasIsCaught() {
    assertCaught(
        joint((client, names) -> naive(client, names.stream().sorted().toList(), false)),
        "L-12.3",
        "aCallWithoutALeaseLeavesNothingTaken",
        "the first is free, after tryLock()");
  }

  @Test
  void aWaitLimitForEachNameIsCaught() {
    assertCaught(
        joint((client, names) -> naive(client, names, true)),
        "L-12.3",
        "aWaitLimitIsForAllNamesTogether",
        "time in tryLock(");
  }

  @Test
  void aJointLeaseThatMissesALossIsCaught() {
    assertCaught(
        BrokenFixture.client(
            ClientDecorator.ofLeases(Map.of("verify", (real, arguments, call) -> null))),
        "L-12.4",
        "theLossOfOneIsTheLossOfAll",
        "one of whose names was taken away");
  }

  @Test
  void aJointLeaseWithOneTokenIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(Map.of(
            "token",
            (real, arguments, call) ->
                arguments.length == 0 ? call.proceed(arguments) : (Object) 1024L))),
        "L-12.5",
        "eachNameHasItsToken",
        "token(");
  }

  @Test
  void aJointLockThatWaitsOutOfOrderIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLocks(Map.of("lock", (real, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (IllegalStateException e) {
            return ((DistributedLock) real).tryLock().orElseThrow();
          }
        }))),
        "L-12.6",
        "jointLocksAreReenteredByName",
        "lock() of an earlier name");
  }

  @Test
  void aJointLeaseThatTellsTheMostTimeIsCaught() {
    assertCaught(
        BrokenFixture.client(ClientDecorator.ofLeases(
            Map.of("remaining", (real, arguments, call) -> Duration.ofDays(1)))),
        "L-12.7",
        "theTimeLeftIsTheLeast",
        "remaining(), where one name");
  }

  @Test
  void aGuardThatTakesAJointLeaseIsCaught() {
    UnaryOperator<GuardedWrites> bug = writes -> new GuardedWrites() {
      @Override
      public void create(String log) throws Exception {
        writes.create(log);
      }

      @Override
      public void append(String log, Lease lease, String entry, Step beforeEffect)
          throws Exception {
        beforeEffect.run();
      }

      @Override
      public List<String> read(String log) throws Exception {
        return writes.read(log);
      }
    };
    assertCaught(
        BrokenFixture.guard(bug),
        "L-12.8",
        "aGuardRefusesAJointLease",
        "a guarded write under a joint lease");
  }
}
