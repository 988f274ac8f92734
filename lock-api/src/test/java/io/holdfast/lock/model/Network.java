package io.holdfast.lock.model;

/**
 * The ways between the machines and the server, and what is wrong with them: requests and answers
 * are lost, late, or carried out twice; the server refuses, is away, or stands still for a while.
 */
final class Network {
  /** So many store timeouts a request can be on its way. */
  static final int LATE_TIMEOUTS_MAX = 4;

  private final World world;
  private final Dice dice = new Dice();
  private final long timeoutNanos;
  private final Way[] ways;

  private boolean serverIsAway;
  private long serverStandsStillUntilNanos;

  private long latencyNanosMax = 2_000_000;

  /** One message of so many is lost or late though nothing else is wrong; 0: none. */
  private int flakyOneIn;

  /** At most one message in so long is lost, and nothing else goes wrong; 0: no such limit. */
  private long losesOneInNanos;

  private long lostAtNanos = Long.MIN_VALUE / 2;

  private static final class Way {
    private boolean losesRequests;
    private boolean losesAnswers;
    private boolean slow;
  }

  /** A request. */
  interface Carried {
    /** At the server. */
    void out();

    /** Its answer arrives. */
    void answered();

    /** The way is known to be closed, and nothing was sent. */
    void refused();

    /** Whether it does no harm if it is carried out again, much later. */
    boolean mayComeAgain();
  }

  Network(World world, long seed, long timeoutNanos, int machines) {
    this.world = world;
    this.timeoutNanos = timeoutNanos;
    Dice unused = dice.of(seed);
    this.ways = new Way[machines];
    for (int i = 0; i < machines; i++) {
      ways[i] = new Way();
    }
  }

  // What goes wrong

  void flaky(int oneIn) {
    flakyOneIn = oneIn;
  }

  void losesOneIn(long nanos) {
    losesOneInNanos = nanos;
  }

  void latency(long nanosMax) {
    latencyNanosMax = nanosMax;
  }

  void losesRequests(int machine, boolean on) {
    ways[machine].losesRequests = on;
  }

  void losesAnswers(int machine, boolean on) {
    ways[machine].losesAnswers = on;
  }

  void slow(int machine, boolean on) {
    ways[machine].slow = on;
  }

  void serverIsAway(boolean on) {
    serverIsAway = on;
  }

  void serverStandsStill(long untilNanos) {
    serverStandsStillUntilNanos = untilNanos;
  }

  void heal() {
    flakyOneIn = 0;
    losesOneInNanos = 0;
    latencyNanosMax = 2_000_000;
    serverIsAway = false;
    serverStandsStillUntilNanos = 0;
    for (Way way : ways) {
      way.losesRequests = false;
      way.losesAnswers = false;
      way.slow = false;
    }
  }

  // Messages

  void send(int machine, Carried request) {
    Way way = ways[machine];
    long onTheWayNanos = latencyNanos(way);
    if (serverIsAway && dice.oneIn(2)) {
      world.after(onTheWayNanos, request::refused);
      return;
    }
    if (way.losesRequests || isLost()) {
      Seen.REQUEST_LOST.count();
      return;
    }
    if (isFlaky()) {
      onTheWayNanos += dice.upTo(LATE_TIMEOUTS_MAX * timeoutNanos);
    }
    world.after(onTheWayNanos, () -> arrives(machine, request));
  }

  private void arrives(int machine, Carried request) {
    if (serverIsAway) {
      Seen.REQUEST_LOST.count();
      return;
    }
    long stillNanos = serverStandsStillUntilNanos - world.nanos();
    if (stillNanos > 0) {
      world.after(stillNanos + dice.upTo(1_000_000), () -> arrives(machine, request));
      return;
    }
    request.out();
    if (isFlaky()) {
      Seen.CARRIED_OUT_TWICE.count();
      if (request.mayComeAgain()) {
        world.after(dice.upTo(LATE_TIMEOUTS_MAX * timeoutNanos), request::out);
      } else {
        request.out();
      }
    }
    if (ways[machine].losesAnswers || isLost()) {
      Seen.ANSWER_LOST.count();
      return;
    }
    world.after(latencyNanos(ways[machine]), request::answered);
  }

  /** The server tells a client something unasked. */
  void tell(int machine, Runnable news) {
    if (!ways[machine].losesAnswers && !isLost()) {
      world.after(latencyNanos(ways[machine]), news);
    }
  }

  private long latencyNanos(Way way) {
    return way.slow ? dice.partOf(timeoutNanos * 3 / 2) : 50_000 + dice.upTo(latencyNanosMax);
  }

  private boolean isFlaky() {
    return flakyOneIn > 0 && dice.oneIn(flakyOneIn);
  }

  private boolean isLost() {
    if (losesOneInNanos > 0) {
      if (world.nanos() - lostAtNanos < losesOneInNanos || dice.below(3) > 0) {
        return false;
      }
      lostAtNanos = world.nanos();
      return true;
    }
    return isFlaky();
  }
}
