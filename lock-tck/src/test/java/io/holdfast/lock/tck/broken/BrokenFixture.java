package io.holdfast.lock.tck.broken;

import static io.holdfast.lock.tck.broken.Decorator.in;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.broken.Decorator.Bug;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.fault.StoreLink;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** The in-memory store with a bug, behind a server that can be stopped. */
public final class BrokenFixture extends InMemoryFixture {
  /** The way of all clients to the store. */
  private final StoreLink server = new StoreLink();

  private Function<LockStore, LockStore> storeBug = store -> store;
  private Function<LockStore, LockStore> engineBug = store -> store;
  private UnaryOperator<LockClient> clientBug = client -> client;
  private Consumer<LockClientBuilder<?>> settingsBug = builder -> {};
  private UnaryOperator<GuardedWrites> guardBug = writes -> writes;
  private UnaryOperator<Link> linkBug = link -> link;
  private Restart restartBug = store -> {};
  private final Map<Link, StoreLink> links = Collections.synchronizedMap(new IdentityHashMap<>());

  /** Puts a bug into the store itself: behind the link, and behind what watches the store. */
  static BrokenFixture store(Function<LockStore, LockStore> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.storeBug = bug;
    return fixture;
  }

  /** A change of the store while its server is started again. */
  interface Restart {
    void run(LockStore store) throws StoreException;
  }

  BrokenFixture withRestart(Restart bug) {
    restartBug = bug;
    return this;
  }

  /** Puts a bug into the calls of the store: before the link, and before what watches the store. */
  static BrokenFixture engine(Function<LockStore, LockStore> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.engineBug = bug;
    return fixture;
  }

  /** Puts a bug into the client, which users call. */
  static BrokenFixture client(String method, Bug<LockClient> bug) {
    return client(client -> Decorator.with(LockClient.class, client, method, bug));
  }

  static BrokenFixture locks(String method, Bug<Acquirable<?>> bug) {
    return client(new Decorator.OfAll<>(Decorator.ACQUIRABLE, method, bug));
  }

  static BrokenFixture leases(String method, Bug<AnyLease> bug) {
    return client(new Decorator.OfAll<>(AnyLease.class, method, bug));
  }

  private static BrokenFixture client(UnaryOperator<LockClient> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.clientBug = bug;
    return fixture;
  }

  /** Makes a connection for each request. */
  static BrokenFixture withoutPool() {
    BrokenFixture fixture = new BrokenFixture();
    fixture.linkBug = link ->
        Decorator.with(Link.class, link, "connectionsMade", (real, none, call) -> real.requests());
    return fixture;
  }

  /** Does not look at the wall clock. */
  static BrokenFixture blindToTheWallClock() {
    return new BrokenFixture().withSettings(builder -> builder.timeSource(TimeSource.system()));
  }

  /** Releases whatever grant has the name. */
  static BrokenFixture releasingByName() {
    return store(in("release", (LockStore real, Grant grant, Duration holdFor) -> {
      LockKey key = grant.claim().key();
      Optional<StoredHolder> holder = real.inspect(key);
      return holder.isPresent() && real.forceRelease(key, holder.get().number())
          ? ReleaseOutcome.RELEASED
          : ReleaseOutcome.ALREADY_LOST;
    }));
  }

  /** Returns a store that has these claims ask again after a pause, and never stand in a line. */
  static BrokenFixture withoutLine(Predicate<Claim> which, Function<Claim, Duration> pause) {
    return store(in("acquireOrQueue", (LockStore real, Claim claim, Runnable wakeUp) -> {
      if (!which.test(claim)) {
        return real.acquireOrQueue(claim, wakeUp);
      }
      Ticket noPlace = new Ticket() {
        @Override
        public Status poll() throws StoreException {
          Optional<Grant> late = real.tryAcquire(claim);
          return late.isPresent() ? new Granted(late.get()) : new Waiting(pause.apply(claim));
        }

        @Override
        public Optional<String> holder() {
          return Optional.empty();
        }

        @Override
        public void close() {}
      };
      Optional<Grant> grant = real.tryAcquire(claim);
      return grant.isPresent()
          ? new Acquisition.Granted(grant.get())
          : new Acquisition.Queued(noPlace, pause.apply(claim));
    }));
  }

  /** Adds a bug in how clients are built, whatever the rules ask for. */
  BrokenFixture withSettings(Consumer<LockClientBuilder<?>> bug) {
    settingsBug = bug;
    return this;
  }

  /** A guard's check before it writes. */
  interface Check {
    void run(GuardedWrites real, String log, Lease lease, GuardedWrites.Step beforeEffect)
        throws Exception;
  }

  /** Puts a bug into the guarded write. */
  static BrokenFixture guard(Check bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.guardBug = real -> new GuardedWrites() {
      private final Map<String, List<String>> logs = new ConcurrentHashMap<>();

      @Override
      public void create(String log) throws Exception {
        logs.put(log, new CopyOnWriteArrayList<>());
        real.create(log);
      }

      @Override
      public void append(String log, Lease lease, String entry, Step beforeEffect)
          throws Exception {
        bug.run(real, log, lease, beforeEffect);
        logs.get(log).add(entry);
      }

      @Override
      public List<String> read(String log) {
        return logs.get(log);
      }
    };
    return fixture;
  }

  @Override
  public Set<Capability> capabilities() {
    Set<Capability> capabilities = EnumSet.copyOf(super.capabilities());
    capabilities.addAll(
        Set.of(Capability.SERVER_PAUSE, Capability.SERVER_RESTART, Capability.DURABLE));
    return capabilities;
  }

  @Override
  public void pauseServer() {
    server.hold(Link.Direction.REQUESTS);
  }

  @Override
  public void resumeServer() {
    server.heal();
  }

  @Override
  public void killServer() {
    server.refuse();
  }

  @Override
  public void startServer() throws StoreException {
    restartBug.run(plainStore());
    server.heal();
  }

  @Override
  protected LockStore openStore(StoreSettings settings) {
    return server.through(storeBug.apply(super.openStore(settings)), settings.storeTimeout());
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(this::openStore, store -> engineBug.apply(tap.apply(store)));
  }

  @Override
  public Link newLink() {
    StoreLink link = new StoreLink();
    Link shown = linkBug.apply(link);
    links.put(shown, link);
    return shown;
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    return new TappedBuilder(
        settings -> links.get(link).through(openStore(settings), settings.storeTimeout()),
        engineBug::apply);
  }

  @Override
  public LockClient build(LockClientBuilder<?> builder) {
    settingsBug.accept(builder);
    return clientBug.apply(builder.build());
  }

  @Override
  public GuardedWrites guardedWrites() {
    return guardBug.apply(super.guardedWrites());
  }
}
