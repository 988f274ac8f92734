package io.holdfast.lock.torture;

/** A guarded write, an entry of a log. */
record Written(Attempt.Id attempt, long token) {
  /** Parses the text that {@link #text} made. */
  static Written parse(String text) {
    String[] parts = text.split("-", -1);
    return new Written(
        new Attempt.Id(
            Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2])),
        Long.parseLong(parts[3]));
  }

  String text() {
    return attempt + "-" + token;
  }
}
