package io.holdfast.lock;

/**
 * Thrown when a semaphore is acquired with another number of permits than the store has for it,
 * while permits are held or somebody waits for one. The caller holds nothing.
 *
 * <p>The cause may be that two versions of a program run at the same time, or that two programs use
 * one name. The number changes once nothing is held and nobody waits.
 */
public final class PermitsMismatchException extends LockException {
  private static final long serialVersionUID = 1;

  private final int asked;
  private final int stored;

  /** Makes the exception; {@code asked} is the caller's number, {@code stored} the store's. */
  public PermitsMismatchException(String lockName, int asked, int stored) {
    super(
        lockName,
        ("Semaphore '%s' was asked for with %s permits, and has %s at the store. Use the same number"
                + " everywhere; it changes once no permit is held and nobody waits for one")
            .formatted(lockName, asked, stored),
        null);
    this.asked = asked;
    this.stored = stored;
  }

  /** Returns the number of permits that the caller asked with. */
  public int asked() {
    return asked;
  }

  /** Returns the number of permits that the store has. */
  public int stored() {
    return stored;
  }
}
