package io.holdfast.lock.model;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.internal.Engine;
import io.holdfast.lock.internal.ModelEngine;
import io.holdfast.lock.model.LifeCycle.Trait;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Clients of the real engine, their users, a store, and what goes wrong: first some time with
 * faults, then all that should be well again is looked at.
 */
final class Episode {
  private final Setting setting;
  private final List<Fault> faults;
  private final World world;
  private final Server server;
  private final Network network;
  private final Judge judge;
  private final Dice dice = new Dice();
  private final List<Place> places = new ArrayList<>();
  private final long faultNanos;

  /** The life cycle that is played instead of users and faults; null in most episodes. */
  private @Nullable Scene scene;

  private int tasks;

  /** A machine, and what runs on it. */
  private static final class Place {
    private final Machine machine;
    private final RemoteStore store;
    private final ReadWriteClient client;
    private final List<User> users = new ArrayList<>();
    private boolean closes;

    Place(Machine machine, RemoteStore store, ReadWriteClient client) {
      this.machine = machine;
      this.store = store;
      this.client = client;
    }

    boolean isAlive() {
      return !machine.isDead();
    }

    boolean isWell() {
      return !machine.isDead() && !closes;
    }
  }

  /** One of a life cycle, in which one call out of the engine fails. */
  Episode(LifeCycle cycle, CallsOut calls) {
    this(0, new Setting(cycle.is(Trait.HANDS_OVER)), List.of(), 0, null, cycle, calls);
  }

  /** @param cycle what is played instead of users and faults, with the calls out; null: nothing */
  Episode(
      long seed,
      Setting setting,
      List<Fault> faults,
      long faultNanos,
      @Nullable StringBuilder trace,
      @Nullable LifeCycle cycle,
      @Nullable CallsOut calls) {
    this.setting = setting;
    this.faults = faults;
    this.faultNanos = faultNanos;
    Dice d = dice.of(seed);
    VirtualThreads.seedRandom(d.next());
    this.world = new World(d.next(), trace);
    this.server = new Server(world, setting.make());
    this.network = new Network(world, d.next(), setting.timeoutNanos(), setting.machines());
    this.judge = new Judge(world, server);
    int lingers = d.oneIn(2) ? 8 : 64;
    world.lingers(cycle == null ? lingers : Integer.MAX_VALUE);
    for (int i = 0; i < setting.machines(); i++) {
      places.add(i == 0 && cycle != null && calls != null ? place(d, cycle, calls) : place(i, d));
    }
  }

  private Place place(Dice d, LifeCycle cycle, CallsOut calls) {
    Machine machine = new Machine(world, 0, Long.MAX_VALUE - setting.ttlNanosMax(), 0, 0);
    world.add(machine);
    RemoteStore store =
        new RemoteStore(world, machine, network, server, setting.timeoutNanos(), d.next());
    Scene its = new Scene(world, server, setting, cycle, calls, machine, store, d.next());
    scene = its;
    Place place = new Place(machine, store, its.client());
    place.closes = cycle.is(Trait.CLOSES);
    return place;
  }

  private Place place(int index, Dice d) {
    int ratePpm = setting.ratesDiffer() ? d.below(2_001) - 1_000 : 0;
    int wallPpm = setting.ratesDiffer() ? d.below(2_001) - 1_000 : 0;
    long startNanos = d.oneIn(2) ? Long.MAX_VALUE - setting.ttlNanosMax() : d.next() >>> 8;
    Machine machine = new Machine(world, index, startNanos, ratePpm, wallPpm);
    world.add(machine);
    RemoteStore store =
        new RemoteStore(world, machine, network, server, setting.timeoutNanos(), d.next());
    LockOptions defaults = LockOptions.renewed(Duration.ofNanos(3 * setting.timeoutNanos()));
    ReadWriteClient client = ModelEngine.start(
        new Engine.Settings(
            machine.toString(),
            defaults,
            Duration.ofNanos(setting.timeoutNanos()),
            List.of(),
            null,
            setting.handOff(),
            machine),
        machine.toString(),
        d.next(),
        store,
        machine::thread);
    store.events(ModelEngine.events(client));
    Place place = new Place(machine, store, client);
    for (int i = 0; i < setting.users(); i++) {
      place.users.add(new User(world, judge, setting, machine, client, i, d.next()));
    }
    return place;
  }

  /** Plays it; throws what it broke. */
  void play() {
    try {
      world.check(judge::look);
      Scene its = scene;
      if (its == null) {
        faults();
        recovery();
      } else {
        places.forEach(place -> place.store.calm());
        world.check(its::look);
        its.play();
        recovery();
        its.quiet();
      }
      rest();
      closing();
    } finally {
      places.forEach(place -> ModelEngine.bury(place.client));
      world.end();
    }
  }

  int steps() {
    return world.steps();
  }

  // With faults

  private void faults() {
    judge.calm(setting.isCalm());
    judge.gentle(setting.isGentle());
    if (setting.isCalm() || setting.isGentle() || setting.interruptsOnly()) {
      places.forEach(place -> place.store.calm());
    }
    if (setting.isGentle()) {
      network.losesOneIn(setting.ttlNanosMax() + 3 * setting.timeoutNanos());
    }
    if (setting.isFarAway()) {
      network.latency(setting.timeoutNanos() * 2 / 5);
    }
    places.forEach(place -> place.users.forEach(User::start));
    for (Fault fault : faults) {
      world.after(fault.atNanos(), () -> begin(fault));
    }
    boolean unused = world.run(() -> false, faultNanos);
  }

  private void begin(Fault fault) {
    Place place = places.get(fault.machine());
    Machine machine = place.machine;
    world.say(() -> "!! " + fault);
    switch (fault.kind()) {
      case LOSES_REQUESTS -> {
        network.losesRequests(fault.machine(), true);
        end(fault, () -> network.losesRequests(fault.machine(), false));
      }
      case LOSES_ANSWERS -> {
        network.losesAnswers(fault.machine(), true);
        end(fault, () -> network.losesAnswers(fault.machine(), false));
      }
      case CUT -> {
        network.losesRequests(fault.machine(), true);
        network.losesAnswers(fault.machine(), true);
        end(fault, () -> {
          network.losesRequests(fault.machine(), false);
          network.losesAnswers(fault.machine(), false);
        });
      }
      case SLOW -> {
        network.slow(fault.machine(), true);
        end(fault, () -> network.slow(fault.machine(), false));
      }
      case FLAKY -> {
        network.flaky(4 + (int) (fault.nanos() % 20));
        end(fault, () -> network.flaky(0));
      }
      case SERVER_AWAY -> {
        Seen.SERVER_AWAY.count();
        network.serverIsAway(true);
        end(fault, () -> network.serverIsAway(false));
      }
      case SERVER_STANDS_STILL -> {
        Seen.SERVER_STOOD_STILL.count();
        // No longer than a request may be late.
        network.serverStandsStill(world.nanos()
            + Math.min(fault.nanos(), Network.LATE_TIMEOUTS_MAX * setting.timeoutNanos()));
      }
      case FREEZE -> {
        Seen.FROZEN.count();
        machine.freeze(true);
        end(fault, () -> machine.freeze(false));
      }
      case SUSPEND -> {
        Seen.SUSPENDED.count();
        machine.suspend(true);
        end(fault, () -> machine.suspend(false));
      }
      case DIE -> {
        if (wellBut(place)) {
          Seen.DIED.count();
          machine.die();
        }
      }
      case WALL_FORWARD -> {
        Seen.WALL_CLOCK_SET.count();
        machine.setWallClock(fault.nanos());
      }
      case WALL_BACK -> {
        Seen.WALL_CLOCK_SET.count();
        machine.setWallClock(-fault.nanos());
      }
      case STALLS -> {
        Seen.STALLED.count();
        world.stalls(50, fault.nanos());
        end(fault, () -> world.stalls(0, 0));
      }
      case INTERRUPTS -> interrupt(place, 1 + (int) (fault.nanos() % 8), fault.nanos());
      case CLOSE -> {
        if (wellBut(place) && !place.closes) {
          close(place);
        }
      }
      case FORCE -> force(place, setting.name((int) (fault.nanos() % setting.names())));
    }
  }

  private void end(Fault fault, Runnable what) {
    world.after(fault.nanos(), () -> {
      world.say(() -> "!! End of " + fault.kind() + " on " + (char) ('A' + fault.machine()));
      what.run();
    });
  }

  private boolean wellBut(Place but) {
    return places.stream().anyMatch(place -> place != but && place.isWell());
  }

  private void interrupt(Place place, int times, long nanos) {
    for (int i = 0; i < times; i++) {
      User user = place.users.get(i % place.users.size());
      world.after(nanos * i / (8L * times), user::interrupt);
    }
  }

  private void close(Place place) {
    world.say(() -> "!! " + place.machine + "'s client is closed");
    place.closes = true;
    place.users.forEach(User::clientCloses);
    start(place, () -> {
      int stops = place.machine.stops();
      long fromNanos = place.machine.nanosNow();
      place.client.close();
      world.say(() -> place.machine + "'s client has closed");
      if (place.machine.stops() == stops) {
        judge.took(
            () -> place.machine + "'s close",
            place.machine.nanosNow() - fromNanos,
            0,
            4 * setting.timeoutNanos());
      }
    });
  }

  private void force(Place place, String name) {
    long number = server.number(new LockKey(LockKind.MUTEX, name));
    if (number == 0 || !place.isWell()) {
      return;
    }
    Seen.FORCED.count();
    judge.forces(name, number);
    start(place, () -> {
      try {
        boolean unused = place.client.get(name).forceRelease(number << 10);
      } catch (LockStoreException | LockClientClosedException e) {
        world.say(() -> "Not forced: " + e.getMessage());
      }
    });
  }

  private void start(Place place, Runnable task) {
    tasks++;
    place
        .machine
        .thread(
            () -> {
              try {
                task.run();
              } finally {
                tasks--;
              }
            },
            "task")
        .start();
  }

  // Afterwards

  private void recovery() {
    world.say(() -> "== All faults end");
    network.heal();
    world.stalls(0, 0);
    for (Place place : places) {
      if (place.isAlive()) {
        place.machine.freeze(false);
        place.machine.suspend(false);
      }
      place.store.calm();
      place.users.forEach(User::stop);
    }
    long mostNanos = 20 * setting.ttlNanosMax();
    if (!world.run(this::allUsersEnded, mostNanos)) {
      throw new Broken(Rule.ENDS, "still at work: " + stillAtWork());
    }
    if (setting.isCalm() || setting.isGentle() || setting.interruptsOnly()) {
      // Nothing is waited for: no TTL has to end.
      long freeNanos = 5 * setting.timeoutNanos() / 2;
      if (!world.run(() -> server.held().isEmpty(), freeNanos)) {
        throw new Broken(Rule.RECOVERS, "nobody holds, and left are: " + server.held());
      }
    }
    long recoveryNanos = 2 * setting.ttlNanosMax()
        + Network.LATE_TIMEOUTS_MAX * setting.timeoutNanos()
        + setting.callNanosMax();
    List<Place> well = places.stream().filter(Place::isWell).toList();
    int[] left = {well.size()};
    for (Place place : well) {
      start(place, () -> {
        for (int i = 0; i < setting.names(); i++) {
          get(place, setting.name(i), Duration.ofNanos(recoveryNanos));
        }
        left[0]--;
      });
    }
    if (!world.run(() -> left[0] == 0, recoveryNanos * setting.names() * well.size())) {
      throw new Broken(Rule.RECOVERS, "not every client got every name");
    }
  }

  private boolean allUsersEnded() {
    for (Place place : places) {
      if (place.isAlive()) {
        for (User user : place.users) {
          if (!user.isEnded()) {
            return false;
          }
        }
      }
    }
    return true;
  }

  private String stillAtWork() {
    List<User> still = new ArrayList<>();
    for (Place place : places) {
      if (place.isAlive()) {
        place.users.stream().filter(user -> !user.isEnded()).forEach(still::add);
      }
    }
    return still.toString();
  }

  private void get(Place place, String name, Duration most) {
    try (Lease lease = place.client.get(name).lockWithin(most)) {
      world.say(() -> place.machine + " got " + lease.name() + " in the end");
    } catch (Exception e) {
      throw new Broken(Rule.RECOVERS, place.machine + " did not get " + name + ": " + e, e);
    }
  }

  /** After all that may be late is there, nothing is left. */
  private void rest() {
    long nanos = 2 * setting.ttlNanosMax()
        + 2 * Network.LATE_TIMEOUTS_MAX * setting.timeoutNanos()
        + setting.make().placeNanos();
    boolean unused = world.run(() -> false, nanos);
    // Clean-up comes again after ten store timeouts, and ends a TTL later.
    boolean unused2 = world.run(() -> leftInClients().isEmpty(), 25 * setting.timeoutNanos());
    String left = leftInClients() + server.left(dead());
    if (!left.isEmpty()) {
      throw new Broken(Rule.NOTHING_LEFT, left);
    }
    judge.lossesWereTold();
    for (Place place : places) {
      if (place.isWell()) {
        boolean[] done = new boolean[1];
        start(place, () -> {
          for (int i = 0; i < setting.names(); i++) {
            getAtOnce(place, setting.name(i));
          }
          done[0] = true;
        });
        if (!world.run(() -> done[0], 4 * setting.timeoutNanos())) {
          throw new Broken(Rule.RECOVERS, place.machine + " does not get a free name");
        }
      }
    }
  }

  private void getAtOnce(Place place, String name) {
    Optional<Lease> lease = place.client.get(name).tryLock();
    if (lease.isEmpty()) {
      throw new Broken(Rule.RECOVERS, place.machine + " does not get " + name + ", which is free");
    }
    lease.get().close();
  }

  private String leftInClients() {
    StringBuilder left = new StringBuilder();
    for (Place place : places) {
      if (place.isWell()) {
        String its = ModelEngine.left(place.client);
        if (!its.isEmpty()) {
          left.append(place.machine).append(": ").append(its);
        }
      }
    }
    return left.toString();
  }

  private int dead() {
    int dead = 0;
    for (Place place : places) {
      if (!place.isAlive()) {
        dead |= 1 << place.machine.index();
      }
    }
    return dead;
  }

  private void closing() {
    for (Place place : places) {
      if (place.isWell() || (scene != null && place.isAlive())) {
        close(place);
      }
    }
    if (!world.run(() -> tasks(), 6 * setting.timeoutNanos())) {
      throw new Broken(Rule.ENDS, "a client does not close");
    }
    Scene its = scene;
    if (its != null) {
      its.end();
    }
    for (Place place : places) {
      if (place.isAlive()) {
        ModelEngine.bury(place.client);
      }
    }
    if (!world.run(this::noThreads, 2 * setting.timeoutNanos())) {
      throw new Broken(Rule.NOTHING_LEFT, threads());
    }
    String left = server.left(dead());
    if (!left.isEmpty()) {
      throw new Broken(Rule.NOTHING_LEFT, "after the close: " + left);
    }
  }

  private boolean tasks() {
    return places.stream().noneMatch(place -> place.isAlive() && !place.store.isClosed());
  }

  private boolean noThreads() {
    return places.stream().allMatch(place -> !place.isAlive() || place.machine.threads() == 0);
  }

  private String threads() {
    StringBuilder threads = new StringBuilder();
    for (Place place : places) {
      threads
          .append(place.machine)
          .append(" has ")
          .append(place.machine.threads())
          .append(" threads; ");
    }
    return threads.toString();
  }
}
