package io.holdfast.lock.spring.integration;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import java.util.List;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/** A candidate for leadership, on a client of its own. */
final class Contender extends DefaultCandidate implements AutoCloseable {
  static final long HEART_BEAT_MILLIS = 100;

  private final String name;
  private final List<String> history;
  private final LockRegistryLeaderInitiator initiator;
  private final HoldfastLockRegistry registry;

  /** Set by the initiator's thread, between being granted and being revoked. */
  private volatile boolean leading;

  private volatile long token;

  /** @param history gets its grants and revocations, as "a granted" and "a revoked" */
  Contender(
      String name, LockClient client, String role, LockOptions options, List<String> history) {
    super(name, role);
    this.name = name;
    this.history = history;
    this.registry = new HoldfastLockRegistry(client, "leader/", options);
    this.initiator = new LockRegistryLeaderInitiator(registry, this);
    initiator.setApplicationEventPublisher(event -> {});
    initiator.setHeartBeatMillis(HEART_BEAT_MILLIS);
    initiator.setBusyWaitMillis(HEART_BEAT_MILLIS);
  }

  void start() {
    initiator.start();
  }

  void stop() {
    initiator.stop();
  }

  void giveUp() {
    initiator.getContext().yield();
  }

  boolean isLeading() {
    return leading;
  }

  /** Whether it leads, as Spring Integration says. */
  boolean isLeaderByContext() {
    return initiator.getContext().isLeader();
  }

  long token() {
    return token;
  }

  @Override
  public void onGranted(Context context) {
    super.onGranted(context);
    token = registry.token(getRole());
    history.add(name + " granted");
    leading = true;
  }

  @Override
  public void onRevoked(Context context) {
    super.onRevoked(context);
    leading = false;
    history.add(name + " revoked");
  }

  @Override
  public void close() {
    stop();
    Await.until(name + " no longer leads", () -> !leading);
  }
}
