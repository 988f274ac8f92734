package io.holdfast.lock.examples.tickets;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;

/** The text that the reader sees. */
final class Story {
  private final PrintStream out;

  Story(PrintStream out) {
    this.out = out;
  }

  void title(String title) {
    out.println();
    out.println(title);
  }

  void gap() {
    out.println();
  }

  void line(String format, Object... arguments) {
    out.println("  " + String.format(Locale.ROOT, format, arguments));
  }

  static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1000.0);
  }
}
