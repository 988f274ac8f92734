package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;

/**
 * A script with its keys and arguments.
 *
 * @param keys the first one determines the server; empty: the server is given otherwise
 * @param isAsking whether to send {@code ASKING} first, since another server redirected the call
 * @param replicas the replicas that must have a grant before it counts; null if none must
 */
record Call(
    Script script,
    List<String> keys,
    List<?> arguments,
    boolean isAsking,
    @Nullable Replicas replicas) {

  /**
   * Makes a call of one of our own scripts. Each has a single key: while a Cluster moves a slot,
   * several keys could be on two servers.
   */
  Call(Script script, String key, Object... arguments) {
    this(script, List.of(key), List.of(arguments), false, null);
  }

  /** Returns the same call, whose grant counts only once these replicas have it. */
  Call confirmedBy(@Nullable Replicas replicas) {
    return replicas == null ? this : new Call(script, keys, arguments, isAsking, replicas);
  }

  /**
   * Makes the call that asks for a lock.
   *
   * @param ownerId the owner id of the claim or, at a quorum, of one of its rounds
   * @param line the script's arguments about a place in line; none: it joins no line
   */
  static Call acquire(
      String key, String ownerId, Claim claim, Duration numbersKept, Object... line) {
    List<Object> arguments = new ArrayList<>(
        List.of(ownerId, millisUp(claim.ttl()), millisUp(numbersKept), claim.holder()));
    LockKind kind = claim.key().kind();
    if (kind == LockKind.PERMIT) {
      arguments.add(claim.permits());
    }
    arguments.addAll(List.of(line));
    return new Call(Scripts.ACQUIRE.of(kind), key, arguments.toArray());
  }

  /** Makes the call that gives a lock back, or leaves it taken for a time. */
  static Call release(LockKind kind, String key, String ownerId, Duration holdFor) {
    return holdFor.isZero()
        ? new Call(Scripts.RELEASE.of(kind), key, ownerId)
        : new Call(Scripts.RELEASE.of(kind), key, ownerId, millisUp(holdFor));
  }

  /**
   * Makes the call after which an attempt has neither the lock nor a place in line.
   *
   * @param ownerId the owner id of the claim, or the prefix that its rounds share
   */
  static Call withdraw(LockKind kind, String key, String ownerId) {
    return new Call(Scripts.WITHDRAW.of(kind), key, ownerId);
  }

  /** Makes the call that frees a lock if the grant with this number has it. */
  static Call forceRelease(LockKind kind, String key, long number) {
    return new Call(Scripts.FORCE_RELEASE.of(kind), key, Long.toString(number));
  }

  /** Makes the call that extends a renewed lease. */
  static Call renew(LockKind kind, String key, String ownerId, Duration ttl) {
    return new Call(Scripts.RENEW.of(kind), key, ownerId, millisUp(ttl));
  }

  /**
   * Makes the call that extends a fixed lease or, with zero time, asks how much is left of a lease.
   */
  static Call extend(LockKind kind, String key, String ownerId, Duration ttl) {
    return new Call(Scripts.EXTEND.of(kind), key, ownerId, millisUp(ttl));
  }

  /** Makes the call that asks who has a lock, or who has the permits of a semaphore. */
  static Call look(LockKind kind, String key) {
    return new Call(Scripts.LOOK.of(kind), key);
  }

  private static String millisUp(Duration duration) {
    return Long.toString(Keys.millisUp(duration));
  }

  String key() {
    return keys.isEmpty() ? "" : keys.get(0);
  }

  Call asking(boolean asking) {
    return asking == isAsking ? this : new Call(script, keys, arguments, asking, replicas);
  }

  CommandArguments bySha() {
    return rest(new CommandArguments(Protocol.Command.EVALSHA).add(script.sha()));
  }

  CommandArguments byText() {
    return rest(new CommandArguments(Protocol.Command.EVAL).add(script.text()));
  }

  private CommandArguments rest(CommandArguments command) {
    command.add(keys.size());
    for (String key : keys) {
      command.key(key);
    }
    for (Object argument : arguments) {
      command.add(argument);
    }
    return command;
  }
}
