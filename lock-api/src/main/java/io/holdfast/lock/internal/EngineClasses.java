package io.holdfast.lock.internal;

import io.holdfast.lock.LockClient;
import java.util.List;

/**
 * The classes that run code when they are initialised. One whose initialisation fails, as it can in
 * a full heap, is of no use in that JVM any more: a first {@code close()} at that moment would make
 * every later one fail. So all are initialised before there is a client.
 */
final class EngineClasses {
  private static final String PACKAGE = LockClient.class.getPackageName() + ".";

  /** Their names within the package; {@code EngineClassesTest} finds those that are missing. */
  static final List<String> NAMES = List.of("""
      LeaseLoss$Reason LeaseState LockClientBuilder LockListener$Mode LockListener$Source
      LockOptions Ownership
      internal.Attempt internal.ClientClosing internal.Engine
      internal.EngineGuard$Phase internal.Settlement internal.Settlement$1
      internal.WaitMode internal.cleanup.Cleanup
      internal.event.Callbacks internal.event.Events internal.grant.ActiveGrant
      internal.grant.ActiveGrant$1 internal.grant.Arrival internal.grant.GrantState$Phase
      internal.memory.MemoryStore internal.queue.HandOff internal.queue.WaitQueue
      internal.queue.Closing internal.renewal.Keeper internal.renewal.RenewalRound
      internal.task.Workers internal.time.Clocks internal.time.Nanos spi.Claim spi.LockKind
      spi.ReleaseOutcome spi.SystemTime
      """.split("\\s+"));

  private EngineClasses() {}

  /** Initialises them, or throws whatever keeps one from being initialised. */
  static void initialize() {
    for (String name : NAMES) {
      try {
        Class<?> unused = Class.forName(PACKAGE + name);
      } catch (ClassNotFoundException e) {
        throw new IllegalStateException(
            "The class " + name + " is not there: lock-api's jar is incomplete", e);
      }
    }
  }
}
