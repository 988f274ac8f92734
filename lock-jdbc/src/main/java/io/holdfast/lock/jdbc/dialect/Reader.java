package io.holdfast.lock.jdbc.dialect;

import java.util.ArrayList;
import java.util.List;

/**
 * A grant of one of those who share a lock, or of a permit: an entry of the list in the lock's row.
 * The owner id, the end and the number have fixed lengths, so that statements can find and
 * overwrite them:
 *
 * <pre>
 * 0123456789abcdef0123456789abcdef 1790000000000000 1790000000000001 a holder;
 * |----------- owner ------------| |---- end -----| |--- number ---|
 * </pre>
 *
 * <p>(but without the spaces in between).
 *
 * @param owner the owner id of its claim, or what shows that it is {@linkplain #isKept kept}
 * @param endMicros the time at which it ends, in microseconds since 1970
 * @param number its number
 * @param holder the description of its holder; with a {@link PermitTag} at the end if it is of a
 *     permit
 */
public record Reader(String owner, long endMicros, long number, String holder) {
  /** The owner of a row whose lock is shared. */
  static final String SHARED = "*";

  /** The end of an entry; no description of a holder has it. */
  private static final char SEPARATOR = ';';

  /** The first character of the owner of an entry that is kept; no owner id begins with it. */
  static final String KEPT = "k";

  /** The length of an owner id. */
  static final int OWNER_LENGTH = 32;

  /** The digits of a time, until the year 2286, and of a number. */
  static final int DIGITS = 16;

  private static final int NUMBER_AT = OWNER_LENGTH + DIGITS;
  private static final int HOLDER_AT = NUMBER_AT + DIGITS;

  /** The length of a list from which on nobody is added to it: three hundred readers or more. */
  static final int LIST_MAX = 100_000;

  /** Whether it was released, and only a minimum hold keeps its permit taken. */
  public boolean isKept() {
    return owner.startsWith(KEPT);
  }

  /** Returns the permit of an entry in a semaphore's list. */
  public int permit() {
    return PermitTag.of(holder).permit();
  }

  /** Returns the description of the holder in an entry of a semaphore's list. */
  public String permitHolder() {
    return holder.substring(0, holder.length() - PermitTag.LENGTH);
  }

  /** Whether a list of these has room for one more. */
  static boolean fits(List<Reader> readers) {
    return format(readers).length() < LIST_MAX;
  }

  /** Returns a description that an entry can contain. */
  public static String printable(String holder) {
    return holder.replace(SEPARATOR, ',');
  }

  /** Reads a list. */
  static List<Reader> parse(String list) {
    List<Reader> readers = new ArrayList<>();
    int begin = 0;
    for (int end = list.indexOf(SEPARATOR); end >= 0; end = list.indexOf(SEPARATOR, begin)) {
      String entry = list.substring(begin, end);
      readers.add(new Reader(
          entry.substring(0, OWNER_LENGTH),
          Long.parseLong(entry.substring(OWNER_LENGTH, NUMBER_AT)),
          Long.parseLong(entry.substring(NUMBER_AT, HOLDER_AT)),
          entry.substring(HOLDER_AT)));
      begin = end + 1;
    }
    return readers;
  }

  /** Writes a list. */
  static String format(List<Reader> readers) {
    StringBuilder list = new StringBuilder();
    for (Reader reader : readers) {
      list.append(reader.owner)
          .append(reader.endMicros)
          .append(reader.number)
          .append(reader.holder)
          .append(SEPARATOR);
    }
    return list.toString();
  }
}
