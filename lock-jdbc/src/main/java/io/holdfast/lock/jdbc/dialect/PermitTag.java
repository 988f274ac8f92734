package io.holdfast.lock.jdbc.dialect;

import java.util.Locale;

/**
 * A permit of a semaphore, as the end of an entry's description names it: {@code #0003.0001} is
 * permit 1 of 3. Its length is fixed, and the entry's separator follows, so that statements can
 * find it.
 *
 * @param of the number of permits that the semaphore has, as the claimant knows it
 * @param permit the permit
 */
record PermitTag(int of, int permit) {
  /** The length of a tag. */
  static final int LENGTH = 10;

  /** The length of its beginning, which tells the number of permits. */
  static final int OF_LENGTH = 6;

  private static final int DIGITS = 4;

  /** Reads the tag at the end of a description. */
  static PermitTag of(String holder) {
    int end = holder.length();
    int ofEnd = end - DIGITS - 1;
    return new PermitTag(
        Integer.parseInt(holder.substring(ofEnd - DIGITS, ofEnd)),
        Integer.parseInt(holder.substring(end - DIGITS)));
  }

  String text() {
    // In the digits that statements compare, whatever the machine's language.
    return String.format(Locale.ROOT, "#%04d.%04d", of, permit);
  }
}
