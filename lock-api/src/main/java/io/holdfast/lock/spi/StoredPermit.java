package io.holdfast.lock.spi;

/**
 * A permit that is held, as the store shows it.
 *
 * @param permit the permit
 * @param holder who has it
 */
public record StoredPermit(int permit, StoredHolder holder) {}
