package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.BrokenFixture.leases;
import static io.holdfast.lock.tck.broken.BrokenFixture.locks;
import static io.holdfast.lock.tck.broken.RuleCheck.assertCaught;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.JointLease;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Checks that each rule about several names fails on joint locks with its bug. */
@Tag("nightly")
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class BrokenJointLocksTest {

  /** Returns clients whose joint locks have the bug. */
  private static BrokenFixture joint(Joint bug) {
    return BrokenFixture.client("all", (client, arguments, call) -> {
      Collection<?> names = (Collection<?>) arguments[0];
      JointLock made = bug.make(client, names.stream().map(String.class::cast).toList());
      return made == null ? call.proceed(arguments) : made;
    });
  }

  private interface Joint {
    /** Returns null for the real one. */
    JointLock make(LockClient client, List<String> names);
  }

  /** Acquires one lock after the other, in the caller's order; may forget to give back. */
  private static JointLock naive(LockClient client, List<String> names, boolean givesBack) {
    return (JointLock) Proxy.newProxyInstance(
        JointLock.class.getClassLoader(),
        new Class<?>[] {JointLock.class},
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
              return Optional.empty();
            }
            leases.add(lease.get());
            // Lets another come in between.
            TimeUnit.MILLISECONDS.sleep(20);
          }
          return Optional.of(jointly(leases));
        });
  }

  private static JointLease jointly(List<Lease> leases) {
    return (JointLease) Proxy.newProxyInstance(
        JointLease.class.getClassLoader(),
        new Class<?>[] {JointLease.class},
        (proxy, method, arguments) -> {
          leases.forEach(Lease::close);
          return null;
        });
  }

  @Test
  void aJointLockOfNoNameIsCaught() {
    assertCaught(
        "L-12.1 namesThatCanNotBeTakenAreRefused",
        "all() of 0 names",
        joint((client, names) -> names.isEmpty() ? client.all(List.of("none")) : null));
  }

  @Test
  void aJointLockOfTheFirstNameIsCaught() {
    assertCaught(
        "L-12.2 aJointLeaseExcludesTheLocksOfEachOfItsNames",
        "a joint lease has it",
        joint((client, names) -> client.all(names.subList(0, 1))));
  }

  @Test
  void aJointLockInTheCallersOrderIsCaught() {
    assertCaught(
        "L-12.2 callersThatNameTheLocksInAnyOrderAllGetTheirTurn",
        "another thread",
        joint((client, names) -> naive(client, names, true)));
  }

  @Test
  void aJointLockThatKeepsWhatItHasIsCaught() {
    assertCaught(
        "L-12.3 aCallWithoutALeaseLeavesNothingTaken",
        "the first is free, after tryLock()",
        joint((client, names) -> naive(client, names.stream().sorted().toList(), false)));
  }

  @Test
  void aWaitLimitForEachNameIsCaught() {
    assertCaught(
        "L-12.3 aWaitLimitIsForAllNamesTogether",
        "time in tryLock(",
        joint((client, names) -> naive(client, names, true)));
  }

  @Test
  void aJointLeaseThatMissesALossIsCaught() {
    assertCaught(
        "L-12.4 theLossOfOneIsTheLossOfAll",
        "one of whose names was taken away",
        leases("verify", (lease, arguments, call) -> null));
  }

  @Test
  void aJointLeaseWithOneTokenIsCaught() {
    assertCaught(
        "L-12.5 eachNameHasItsToken",
        "token(",
        leases(
            "token",
            (lease, arguments, call) ->
                arguments.length == 0 ? call.proceed(arguments) : (Object) 1024L));
  }

  @Test
  void aJointLockThatWaitsOutOfOrderIsCaught() {
    assertCaught(
        "L-12.6 jointLocksAreReenteredByName",
        "lock() of an earlier name",
        locks("lock", (lock, arguments, call) -> {
          try {
            return call.proceed(arguments);
          } catch (IllegalStateException e) {
            return lock.tryLock().orElseThrow();
          }
        }));
  }

  @Test
  void aJointLeaseThatTellsTheMostTimeIsCaught() {
    assertCaught(
        "L-12.7 theTimeLeftIsTheLeast",
        "remaining(), where one name",
        leases("remaining", (lease, arguments, call) -> Duration.ofDays(1)));
  }
}
