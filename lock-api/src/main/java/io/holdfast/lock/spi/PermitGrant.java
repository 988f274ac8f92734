package io.holdfast.lock.spi;

/**
 * A store's grant of a permit. Its {@linkplain #number() number} need only be above that of every
 * earlier grant of the same key and permit, whatever number of permits those were granted with; but
 * no two grants of one key have the same number.
 */
public interface PermitGrant extends Grant {
  /**
   * The permit that was granted: 0 to {@link Claim.Permit#of()} - 1. No other grant of the key that
   * stands has it.
   */
  int permit();
}
