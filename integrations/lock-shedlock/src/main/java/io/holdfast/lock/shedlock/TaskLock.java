package io.holdfast.lock.shedlock;

import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** The lock of a task as ShedLock sees it, until it unlocks or extends it. */
final class TaskLock extends AbstractSimpleLock {
  private final Tenure tenure;

  TaskLock(LockConfiguration configuration, Tenure tenure) {
    super(configuration);
    this.tenure = tenure;
  }

  @Override
  protected void doUnlock() {
    tenure.close();
  }

  @Override
  protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
    HoldfastLockProvider.requireLength(extended);
    return tenure.extend(extended.getLockAtMostFor(), extended.getLockAtLeastFor())
        ? Optional.of(new TaskLock(extended, tenure))
        : Optional.empty();
  }
}
