package io.holdfast.lock.tck.broken;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.TappedBuilder;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.tck.fault.StoreLink;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** The in-memory store with a bug. */
final class BrokenFixture extends InMemoryFixture {
  private UnaryOperator<LockStore> storeBug = UnaryOperator.identity();
  private UnaryOperator<LockStore> engineBug = UnaryOperator.identity();
  private UnaryOperator<LockClient> clientBug = UnaryOperator.identity();
  private Consumer<LockClientBuilder<?>> settingsBug = builder -> {};
  private UnaryOperator<GuardedWrites> guardBug = UnaryOperator.identity();

  /** In the store itself: behind the link, and behind what watches the store. */
  static BrokenFixture store(UnaryOperator<LockStore> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.storeBug = bug;
    return fixture;
  }

  /** In what calls the store: before the link, and before what watches the store. */
  static BrokenFixture engine(UnaryOperator<LockStore> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.engineBug = bug;
    return fixture;
  }

  /** In what calls the store, and in how clients are built. */
  static BrokenFixture engine(
      UnaryOperator<LockStore> bug, Consumer<LockClientBuilder<?>> settingsBug) {
    BrokenFixture fixture = engine(bug);
    fixture.settingsBug = settingsBug;
    return fixture;
  }

  /** In what users call. */
  static BrokenFixture client(UnaryOperator<LockClient> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.clientBug = bug;
    return fixture;
  }

  /** In how clients are built, whatever the rules ask for. */
  static BrokenFixture settings(Consumer<LockClientBuilder<?>> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.settingsBug = bug;
    return fixture;
  }

  /** In the guarded write. */
  static BrokenFixture guard(UnaryOperator<GuardedWrites> bug) {
    BrokenFixture fixture = new BrokenFixture();
    fixture.guardBug = bug;
    return fixture;
  }

  @Override
  protected LockStore openStore(StoreSettings settings) {
    return storeBug.apply(super.openStore(settings));
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(this::openStore, store -> engineBug.apply(tap.apply(store)));
  }

  @Override
  public LockClientBuilder<?> newClient(Link link) {
    return new TappedBuilder(
        settings -> ((StoreLink) link).through(openStore(settings), settings.storeTimeout()),
        engineBug);
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
