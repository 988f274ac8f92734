package io.holdfast.lock.torture;

import io.holdfast.lock.tck.fault.Link.Direction;
import java.util.Locale;

/** Something that is broken for a while. */
sealed interface Fault {

  /** What it breaks: two faults of one thing never overlap. */
  String target();

  /** A fault of a worker's process. */
  sealed interface OfWorker extends Fault {
    int worker();

    @Override
    default String target() {
      return "worker " + worker();
    }
  }

  /** It is killed with no time to do anything; another is started at the end. */
  record KillWorker(int worker) implements OfWorker {
    @Override
    public String toString() {
      return "kill worker " + worker;
    }
  }

  /** It is stopped where it is, and goes on at the end. */
  record FreezeWorker(int worker) implements OfWorker {
    @Override
    public String toString() {
      return "freeze worker " + worker;
    }
  }

  /**
   * It is stopped where it is, and its monotonic clock with it: as if its machine were suspended.
   */
  record SuspendWorker(int worker) implements OfWorker {
    @Override
    public String toString() {
      return "suspend the machine of worker " + worker;
    }
  }

  /** Its wall clock jumps, and back at the end. */
  record SetClock(int worker, int millis) implements OfWorker {
    @Override
    public String toString() {
      return "set the wall clock of worker " + worker + (millis < 0 ? " back by " : " ahead by ")
          + Math.abs(millis) + " ms";
    }
  }

  /** A fault of all ways from a worker to the servers. */
  sealed interface OfWay extends Fault {
    int worker();

    @Override
    default String target() {
      return "way " + worker();
    }
  }

  /** Connections are reset, and new ones as soon as they are made. */
  record Refuse(int worker) implements OfWay {
    @Override
    public String toString() {
      return "refuse connections of worker " + worker;
    }
  }

  /** Connections are reset again and again; new ones work. */
  record Cuts(int worker) implements OfWay {
    @Override
    public String toString() {
      return "cut connections of worker " + worker + " again and again";
    }
  }

  /** Nothing arrives in either direction, and nobody is told. */
  record Silence(int worker) implements OfWay {
    @Override
    public String toString() {
      return "silence between worker " + worker + " and the servers";
    }
  }

  /** Messages take longer. */
  record Delay(int worker, Direction direction, int millis) implements OfWay {
    @Override
    public String toString() {
      return "delay " + text(direction) + " of worker " + worker + " by " + millis + " ms";
    }
  }

  /** Messages are held back and arrive at the end, even those of a client that gave up. */
  record DeliverLate(int worker, Direction direction) implements OfWay {
    @Override
    public String toString() {
      return "hold back " + text(direction) + " of worker " + worker + ", and deliver them late";
    }
  }

  /** Messages are held back, and lost at the end with their connections. */
  record Lose(int worker, Direction direction) implements OfWay {
    @Override
    public String toString() {
      return "hold back " + text(direction) + " of worker " + worker + ", and lose them";
    }
  }

  /** Requests are carried out, and every third reply or so is lost with its connection. */
  record LoseReplies(int worker, int nth) implements OfWay {
    @Override
    public String toString() {
      return "lose every " + nth + ". reply of worker " + worker;
    }
  }

  /** Nothing arrives anywhere. */
  record Outage() implements Fault {
    @Override
    public String target() {
      return "way";
    }

    @Override
    public String toString() {
      return "silence between all workers and the servers";
    }
  }

  /** A fault of a server. */
  sealed interface OfServer extends Fault {
    int server();

    @Override
    default String target() {
      return "server " + server();
    }
  }

  /** It is killed, and started again at the end. */
  record KillServer(int server) implements OfServer {
    @Override
    public String toString() {
      return "kill server " + server;
    }
  }

  /** It is stopped where it is, and goes on at the end. */
  record PauseServer(int server) implements OfServer {
    @Override
    public String toString() {
      return "pause server " + server;
    }
  }

  /** It is told to end as an operator does, and started again at the end. */
  record StopServer(int server) implements OfServer {
    @Override
    public String toString() {
      return "stop server " + server;
    }
  }

  /** Whether both would break the same thing. */
  default boolean meets(Fault other) {
    return target().startsWith(other.target()) || other.target().startsWith(target());
  }

  private static String text(Direction direction) {
    return direction.name().toLowerCase(Locale.ROOT);
  }
}
