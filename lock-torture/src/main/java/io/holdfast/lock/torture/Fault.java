package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.Link.Direction;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A fault of a worker, a connection or a server, which ends after a while.
 *
 * @param index the number of the worker, the server or the name; zero where there is none
 * @param direction the direction of the messages, for kinds that have one
 * @param amount milliseconds (negative: back), or n for every n-th message; zero: neither
 */
record Fault(Kind kind, int index, Direction direction, int amount) {

  /** The thing that a fault breaks. */
  enum Target {
    /** A worker's process. */
    WORKER("worker "),
    /** A worker's connections to the servers. */
    WAY("way "),
    /** The connections of all workers. */
    WAYS("way"),
    SERVER("server "),
    /** All servers: none of them has another fault meanwhile. */
    SERVERS("server");

    private final String text;

    Target(String text) {
      this.text = text;
    }
  }

  /**
   * The kinds of faults. In the texts, {@code %1} is the index, {@code %2} the direction,
   * {@code %3} the amount without its sign, and {@code %4} the sign in words.
   */
  enum Kind {
    /** It is killed with SIGKILL; another is started at the end. */
    KILL_WORKER(Target.WORKER, "kill worker %1$d"),
    /** It is stopped where it is, and goes on at the end. */
    FREEZE_WORKER(Target.WORKER, "freeze worker %1$d"),
    /** A freeze that stops the monotonic clock too: as if its machine were suspended. */
    SUSPEND_WORKER(Target.WORKER, "suspend the machine of worker %1$d"),
    /** Its wall clock jumps, and back at the end. */
    SET_CLOCK(Target.WORKER, "set the wall clock of worker %1$d %4$s by %3$d ms"),
    /** Its heap is full: whatever allocates fails, in the lock's threads and in the user's. */
    FILL_HEAP(Target.WORKER, "fill the heap of worker %1$d"),
    /** It can start no thread: none has room for its stack. */
    EXHAUST_THREADS(Target.WORKER, "no new thread in worker %1$d"),

    /** Connections are reset, and new ones as soon as they are made. */
    REFUSE(Target.WAY, "refuse connections of worker %1$d"),
    /** Connections are reset again and again; new ones work. */
    CUTS(Target.WAY, "cut connections of worker %1$d again and again"),
    /** Messages in both directions are dropped silently. */
    SILENCE(Target.WAY, "silence between worker %1$d and the servers"),
    /** Messages in this direction are delayed. */
    DELAY(Target.WAY, "delay %2$s of worker %1$d by %3$d ms"),
    /** Messages are held back and arrive at the end, even those of a client that gave up. */
    DELIVER_LATE(Target.WAY, "hold back %2$s of worker %1$d, and deliver them late"),
    /** Messages in this direction are dropped silently; the other direction works. */
    LOSE(Target.WAY, "lose %2$s of worker %1$d"),
    /** Connections are half-closed again and again: one direction ends, the other stays open. */
    SHUT(Target.WAY, "half-close connections of worker %1$d for %2$s"),
    /** Every third request or so is not carried out, and lost with its connection. */
    LOSE_REQUESTS(Target.WAY, "lose every %3$d. request of worker %1$d"),
    /** Requests are carried out, and every third reply or so is lost with its connection. */
    LOSE_REPLIES(Target.WAY, "lose every %3$d. reply of worker %1$d"),
    /** Nothing arrives anywhere. */
    OUTAGE(Target.WAYS, "silence between all workers and the servers"),

    /** It is killed, and started again at the end. */
    KILL_SERVER(Target.SERVER, "kill server %1$d"),
    /** It is stopped where it is, and goes on at the end. */
    PAUSE_SERVER(Target.SERVER, "pause server %1$d"),
    /** It is stopped as an operator does it, and started again at the end. */
    STOP_SERVER(Target.SERVER, "stop server %1$d"),
    /** Its wall clock jumps, and back at the end. */
    SET_SERVER_CLOCK(Target.SERVER, "set the wall clock of server %1$d %4$s by %3$d ms"),

    /** One after the other is stopped as an operator does it, and started again. */
    ROLLING_RESTART(Target.SERVERS, "restart all servers, one after the other"),
    /** Another server of a pair takes over with all that the old one had, and that is stopped. */
    SWITCH_OVER(Target.SERVERS, "switch over to the standby, the old primary is stopped"),
    /** As {@link #SWITCH_OVER}, but the old one stays up and refuses to write. */
    SWITCH_OVER_READ_ONLY(
        Target.SERVERS, "switch over to the standby, the old primary stays up read-only"),
    /** The slot of a name moves to another primary, key by key. */
    MOVE_SLOT(Target.SERVERS, "move the slot of name %1$d to another primary");

    private final Target target;
    private final String text;

    Kind(Target target, String text) {
      this.target = target;
      this.text = text;
    }

    /** Returns the kind that is so named on the command line, as in {@code kill-worker}. */
    static Kind byOption(String option) {
      return Arrays.stream(values())
          .filter(kind -> kind.option().equals(option))
          .findFirst()
          .orElseThrow(
              () -> new IllegalArgumentException("no such fault: " + option + "; there are "
                  + Arrays.stream(values()).map(Kind::option).collect(Collectors.joining(", "))));
    }

    private String option() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    Target target() {
      return target;
    }

    Fault of(int index) {
      return of(index, Direction.REQUESTS, 0);
    }

    Fault of(int index, int amount) {
      return of(index, Direction.REQUESTS, amount);
    }

    Fault of(int index, Direction direction) {
      return of(index, direction, 0);
    }

    Fault of(int index, Direction direction, int amount) {
      return new Fault(this, index, direction, amount);
    }
  }

  /** Returns the target as text; two faults of one target never overlap. */
  String target() {
    Target target = kind.target;
    boolean isOfAll = target == Target.WAYS || target == Target.SERVERS;
    return isOfAll ? target.text : target.text + index;
  }

  /** Whether both have the same target, or one that contains the other's. */
  boolean meets(Fault other) {
    return target().startsWith(other.target()) || other.target().startsWith(target());
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        kind.text,
        index,
        direction.name().toLowerCase(Locale.ROOT),
        Math.abs(amount),
        amount < 0 ? "back" : "ahead");
  }
}
