package io.holdfast.lock.jdbc.dialect;

import io.holdfast.lock.spi.LockKind;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One lock, as its row showed it. All times except {@code changedAtMicros} are relative to the
 * database's clock.
 *
 * @param key the stored name
 * @param owner the owner id of the grant that has the lock; {@link Reader#SHARED} if readers share
 *     it, or if it is a semaphore of which permits are taken; empty if no grant has it, or only a
 *     minimum hold keeps it
 * @param number the number of the last grant, of which its fencing token is made
 * @param sinceMicros the time since it was last taken or freed; for a taken lock, since it was
 *     granted; for one that is shared, since a reader entered or left
 * @param changedAtMicros when that was, in microseconds since 1970
 * @param remainingMicros the time for which it is still taken; zero or less if it is free
 * @param wantedMicros the time for which there may be a line; zero or less if there is none
 * @param served the place of the last waiter that got the lock
 * @param holder the description of its last holder
 * @param readers those who share it or have a permit, and those whose time is over and who have not
 *     left
 */
public record Row(
    String key,
    String owner,
    long number,
    long sinceMicros,
    long changedAtMicros,
    long remainingMicros,
    long wantedMicros,
    long served,
    String holder,
    List<Reader> readers) {

  /** More than places can differ that several nodes of a cluster give out at the same time. */
  private static final long PLACES_OF_A_CLUSTER = 1_000;

  /** The columns of a query of rows {@code l}, in the order of the components. */
  static final String COLUMNS = "l.name, l.owner, l.number, {now} - l.changed_at, l.changed_at,"
      + " l.expires_at - {now}, l.wanted_until - {now}, l.served, l.holder,"
      + " COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '')";

  /** Reads the row at which the result is. */
  static Row read(ResultSet result, Dialect dialect) throws SQLException {
    return new Row(
        dialect.key(result, 1),
        result.getString(2),
        result.getLong(3),
        result.getLong(4),
        result.getLong(5),
        result.getLong(6),
        believed(result.getLong(7)),
        result.getLong(8),
        result.getString(9),
        Reader.parse(result.getString(10)));
  }

  private static long believed(long wantedMicros) {
    return wantedMicros > Protocol.BELIEVED_MICROS ? 0 : wantedMicros;
  }

  /** Returns the database's clock when the row was read, in microseconds since 1970. */
  public long nowMicros() {
    return changedAtMicros + sinceMicros;
  }

  /** Whether the lock can be taken. */
  public boolean isFree() {
    return remainingMicros <= 0;
  }

  /** Whether readers share the lock. */
  public boolean isShared() {
    return !isFree() && owner.equals(Reader.SHARED);
  }

  /** Returns the readers whose time is not over; none unless the lock is shared. */
  public List<Reader> reading() {
    return readers.stream()
        .filter(reader -> isShared() && reader.endMicros() > nowMicros())
        .toList();
  }

  /**
   * Whether a shared lock shows readers whose time is over, or is taken for longer than its readers
   * have it, since one with more time has left. That does no harm to a semaphore.
   */
  public boolean isUntidy() {
    long lateMicros = nowMicros() + remainingMicros - lastEndMicros();
    boolean isLate = lateMicros > Protocol.SHARED_MICROS && !isSemaphore();
    return isShared() && (reading().size() < readers.size() || isLate);
  }

  private boolean isSemaphore() {
    return key.charAt(0) == LockKind.PERMIT.code();
  }

  /** Returns the time until somebody's time is over, if no renewal and no release comes first. */
  public long firstEndMicros() {
    return isSemaphore() && isShared()
        ? readers.stream().mapToLong(Reader::endMicros).min().orElse(0) - nowMicros()
        : remainingMicros;
  }

  /** Returns the number of permits that those who have one know of; 0: nobody has one. */
  public int permits() {
    return reading().stream()
        .findFirst()
        .map(reader -> PermitTag.of(reader.holder()).of())
        .orElse(0);
  }

  /** Whether those who have a permit know of another number than this claim does. */
  public boolean differs(StoredClaim claim) {
    return claim.isForPermit() && permits() > 0 && permits() != claim.permits();
  }

  /** Returns the permits that nobody has, of so many; kept ones are not free. */
  public List<Integer> freePermits(int of) {
    Set<Integer> taken = reading().stream().map(Reader::permit).collect(Collectors.toSet());
    return IntStream.range(0, of)
        .boxed()
        .filter(permit -> !taken.contains(permit))
        .toList();
  }

  /** Returns the end of the last reader; 0 if the time of all is over. */
  long lastEndMicros() {
    return reading().stream().mapToLong(Reader::endMicros).max().orElse(0);
  }

  /**
   * A grant, as the row shows it.
   *
   * @param remainingMicros the time for which it stands; zero or less if that is over, and nobody
   *     has taken or freed the lock since
   * @param entry the entry of the readers' list; null if it has the lock alone
   */
  public record Shown(
      long number, long remainingMicros, @Nullable Reader entry) {
    /** Whether it is no entry of the list. */
    public boolean isAlone() {
      return entry == null;
    }
  }

  /** Returns the grant of this claim, even if its time is over; empty if the row shows none. */
  public Optional<Shown> grant(StoredClaim claim) {
    if (owner.equals(claim.owner())) {
      return Optional.of(new Shown(number, remainingMicros, null));
    }
    return readers.stream()
        .filter(reader -> claim.shared() && reader.owner().equals(claim.owner()))
        .findFirst()
        // A database may have read its clock twice, so the lock may end a moment earlier.
        .map(reader -> new Shown(
            reader.number(), Math.min(remainingMicros, reader.endMicros() - nowMicros()), reader));
  }

  /** Returns the grant of this claim and number if it has the lock. */
  public Optional<Shown> held(StoredClaim claim, long grantNumber) {
    return grant(claim)
        .filter(shown -> shown.number() == grantNumber && shown.remainingMicros() > 0);
  }

  /** Whether this claim has the lock. */
  public boolean isOwnedBy(StoredClaim claim) {
    return grant(claim).filter(shown -> shown.remainingMicros() > 0).isPresent();
  }

  /** Returns the entry of the grant of this number, if its time is not over. */
  public Optional<Reader> entry(long grantNumber) {
    return reading().stream().filter(entry -> entry.number() == grantNumber).findFirst();
  }

  /** Returns the claim of an entry. */
  public StoredClaim claim(Reader entry) {
    int permits = isSemaphore() ? permits() : 0;
    return new StoredClaim(key, entry.owner(), true, 0, entry.holder(), permits);
  }

  /** Whether the row shows this grant, even if its time is over: nobody took its place since. */
  public boolean isOf(StoredClaim claim, long grantNumber) {
    return grant(claim).filter(shown -> shown.number() == grantNumber).isPresent();
  }

  /**
   * Whether the counter of places was set back (by TRUNCATE or RESTART IDENTITY, or on a replica
   * that did not get it). For a long time, nobody who joins would then be in the line. A place that
   * is only a little lower proves nothing: other nodes of a cluster give out such places.
   *
   * @param place that of a waiter that is not in the line, and whose turn can't be over
   */
  public boolean isSetBack(long place) {
    return served - place > PLACES_OF_A_CLUSTER;
  }
}
