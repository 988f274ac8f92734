package io.holdfast.lock.jdbc.dialect;

/**
 * One lock as its row showed it; all times are relative to the database's now.
 *
 * @param key the stored name
 * @param owner the attempt that has it; empty: nobody, or only a minimum hold
 * @param number the number of the last grant
 * @param sinceMicros how long ago it was last taken or released
 * @param remainingMicros how long it is taken yet; zero or less: free
 * @param wantedMicros how long another client counts on being next; zero or less: nobody does
 * @param holder who took it last
 */
public record Row(
    String key,
    String owner,
    long number,
    long sinceMicros,
    long remainingMicros,
    long wantedMicros,
    String holder) {

  /** Whether the lock can be taken. */
  public boolean isFree() {
    return remainingMicros <= 0;
  }

  /** Whether this grant has the lock. */
  public boolean isHeldBy(String attempt, long grantNumber) {
    return !isFree() && number == grantNumber && owner.equals(attempt);
  }
}
