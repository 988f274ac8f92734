package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Interval;
import io.holdfast.lock.torture.Evidence.Happened;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** The attempts of all workers around a finding, as text and as a picture. */
final class Timeline {
  private static final long BEFORE_NANOS = 8_000_000_000L;
  private static final long AFTER_NANOS = 3_000_000_000L;

  private static final int WIDTH = 1_400;
  private static final int LEFT = 150;
  private static final int TOP = 30;
  private static final int LANE = 22;

  private final Evidence evidence;
  private final Finding finding;
  private final long from;
  private final long until;
  private final List<Attempt> attempts;
  private final List<Happened> faults;

  Timeline(Evidence evidence, Finding finding) {
    this.evidence = evidence;
    this.finding = finding;
    this.from = finding.at() - BEFORE_NANOS;
    this.until = finding.at() + AFTER_NANOS;
    this.attempts = evidence.attempts().stream()
        .filter(attempt -> attempt.name() == finding.name())
        .filter(attempt -> attempt.askedAt() < until && end(attempt) > from)
        .sorted(Comparator.comparingLong(Attempt::askedAt))
        .toList();
    this.faults = evidence.faults().stream()
        .filter(happened -> happened.beganAt() < until && happened.endedAt() > from)
        .sorted(Comparator.comparingLong(Happened::beganAt))
        .toList();
  }

  private static long end(Attempt attempt) {
    return Math.max(
        Math.max(attempt.closedAt(), attempt.believedUntil()),
        Math.max(attempt.answeredAt(), attempt.askedAt()));
  }

  /** Returns the text, with times in milliseconds since the beginning of the schedule. */
  String text() {
    record Line(long at, String text) {}
    List<Line> lines = new ArrayList<>();
    for (Happened happened : faults) {
      lines.add(new Line(happened.beganAt(), "BROKEN  " + happened.fault()));
      lines.add(new Line(happened.endedAt(), "ended   " + happened.fault()));
    }
    for (Attempt attempt : attempts) {
      if (attempt.granted()) {
        lines.add(new Line(attempt.answeredAt(), "        " + attempt.text(evidence.beganAt())));
      }
    }
    lines.sort(Comparator.comparingLong(Line::at));
    StringBuilder text = new StringBuilder();
    text.append(finding.rule()).append(", name ").append(finding.name());
    text.append(", at ")
        .append(Attempt.millis(finding.at(), evidence.beganAt()))
        .append(" ms ");
    text.append(finding.documented()).append('\n').append(finding.text()).append("\n\n");
    for (Line line : lines) {
      text.append(String.format(
          Locale.ROOT, "%12s ms  %s%n", Attempt.millis(line.at, evidence.beganAt()), line.text));
    }
    return text.toString();
  }

  /**
   * Returns the picture: a lane for each thread that asked for the name, grey during the call, blue
   * while the lease was certainly valid, light blue from there until its close had returned. Above
   * them are the faults, and a red line is at the time of the finding.
   */
  String svg() {
    List<String> lanes =
        attempts.stream().map(Timeline::lane).distinct().sorted().toList();
    int height = TOP + LANE * (faults.size() + lanes.size() + 1);
    StringBuilder svg = new StringBuilder();
    svg.append(String.format(
        Locale.ROOT,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
            + " font-family=\"sans-serif\" font-size=\"12\">%n"
            + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n",
        WIDTH,
        height));
    svg.append(text(4, 16, finding.rule() + " of name " + finding.name()));
    for (long second = 0; second <= (until - from) / 1_000_000_000L; second++) {
      long at = from + second * 1_000_000_000L;
      svg.append(box(at, at + 1_000_000, TOP, height - TOP, "#dddddd", ""));
      svg.append(text(x(at), TOP - 2, Attempt.millis(at, evidence.beganAt())));
    }
    int y = TOP;
    for (Happened happened : faults) {
      svg.append(box(happened.beganAt(), happened.endedAt(), y, LANE - 6, "#f4c27a", ""));
      svg.append(text(x(Math.max(happened.beganAt(), from)) + 3, y + 12, "" + happened.fault()));
      y += LANE;
    }
    for (Attempt attempt : attempts) {
      int lane = y + LANE * lanes.indexOf(lane(attempt));
      svg.append(box(attempt.askedAt(), attempt.answeredAt(), lane + 5, LANE - 16, "#999999", ""));
      if (attempt.granted()) {
        String hint = attempt.text(evidence.beganAt());
        svg.append(box(attempt.answeredAt(), end(attempt), lane, LANE - 6, "#bcd6f0", hint));
        Interval sure = attempt.sure();
        if (sure != null) {
          svg.append(box(sure.from(), sure.until(), lane, LANE - 6, "#2060b0", hint));
        }
      }
    }
    for (int i = 0; i < lanes.size(); i++) {
      svg.append(text(4, y + LANE * i + 12, lanes.get(i)));
    }
    svg.append(box(finding.at(), finding.at() + 1_000_000, TOP, height - TOP, "#d00000", ""));
    return svg.append("</svg>\n").toString();
  }

  private static String lane(Attempt attempt) {
    return "worker " + attempt.id().worker() + "." + attempt.id().life() + " thread "
        + attempt.thread();
  }

  private int x(long at) {
    return LEFT + (int) ((WIDTH - LEFT) * (double) (at - from) / (until - from));
  }

  private String box(long begin, long end, int y, int height, String colour, String hint) {
    int left = x(Math.max(begin, from));
    int right = x(Math.min(end, until));
    if (right < LEFT || left > WIDTH || right < left) {
      return "";
    }
    return String.format(
        Locale.ROOT,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>%s</title></rect>%n",
        left,
        y,
        Math.max(1, right - left),
        height,
        colour,
        escape(hint));
  }

  private static String text(int x, int y, String text) {
    return String.format(Locale.ROOT, "<text x=\"%d\" y=\"%d\">%s</text>%n", x, y, escape(text));
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
