package io.holdfast.lock.jdbc.dialect;

/**
 * One lock as its row showed it; times are relative to the database's now, but for
 * {@code changedAtMicros}.
 *
 * @param key the stored name
 * @param owner the owner id of the grant that has it; empty: nobody, or only a minimum hold
 * @param number the number of the last grant
 * @param sinceMicros how long ago it was last taken or freed: for a taken one, when it was granted
 * @param changedAtMicros when that was, in microseconds since 1970
 * @param remainingMicros how long it is taken yet; zero or less: free
 * @param wantedMicros for how long there may be a line; zero or less: there is none
 * @param holder who took it last
 */
public record Row(
    String key,
    String owner,
    long number,
    long sinceMicros,
    long changedAtMicros,
    long remainingMicros,
    long wantedMicros,
    String holder) {

  /** Whether the lock can be taken. */
  public boolean isFree() {
    return remainingMicros <= 0;
  }

  /** Whether this grant has the lock. */
  public boolean isHeldBy(String ownerId, long grantNumber) {
    return !isFree() && isOf(ownerId, grantNumber);
  }

  /** Whether the owner of this id has the lock. */
  public boolean isOwnedBy(String ownerId) {
    return !isFree() && owner.equals(ownerId);
  }

  /** Whether nobody has taken or freed the lock since this grant, though its time may be over. */
  public boolean isOf(String ownerId, long grantNumber) {
    return number == grantNumber && owner.equals(ownerId);
  }
}
