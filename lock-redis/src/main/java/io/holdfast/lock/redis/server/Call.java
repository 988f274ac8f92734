package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
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
public record Call(
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

  /**
   * Makes the call of a caller's script, whose keys follow the lock's.
   *
   * @param scripts made by {@link Scripts#guarded}
   */
  public static Call guarded(
      Scripts scripts, String prefix, Claim claim, List<String> keys, List<String> arguments) {
    return new Call(
        scripts.of(claim.mode()),
        Stream.concat(Stream.of(Keys.of(prefix, claim.key())), keys.stream()).toList(),
        Stream.concat(Stream.of(claim.ownerId()), arguments.stream()).toList(),
        false,
        null);
  }

  /** Returns the same call, whose grant counts only once these replicas have it. */
  public Call confirmedBy(@Nullable Replicas replicas) {
    return replicas == null ? this : new Call(script, keys, arguments, isAsking, replicas);
  }

  /**
   * Makes the call that asks for a lock.
   *
   * @param ownerId the owner id of the claim or, at a quorum, of one of its rounds
   * @param place the script's argument about a place in line; empty: it joins no line
   */
  public static Call acquire(
      String prefix, String ownerId, Claim claim, Duration numbersKept, String place) {
    List<Object> arguments = new ArrayList<>(
        List.of(ownerId, millisUp(claim.ttl()), millisUp(numbersKept), claim.holder()));
    String mode = mode(claim);
    if (!place.isEmpty() || !mode.isEmpty()) {
      arguments.add(place);
    }
    if (!mode.isEmpty()) {
      arguments.add(mode);
    }
    return new Call(
        Scripts.ACQUIRE.of(claim.mode()), Keys.of(prefix, claim.key()), arguments.toArray());
  }

  /** Returns the mode of a claim, as key.lua has it. */
  private static String mode(Claim claim) {
    if (claim.mode() instanceof Claim.Permit permit) {
      return "p" + permit.of();
    }
    return claim.mode() instanceof Claim.Shared ? Reply.Held.READER : "";
  }

  /** Makes the call that gives a lock back, or leaves it taken for a time. */
  public static Call release(String prefix, LockKey key, String ownerId, Duration holdFor) {
    return holdFor.isZero()
        ? new Call(Script.RELEASE, Keys.of(prefix, key), ownerId)
        : new Call(Script.RELEASE, Keys.of(prefix, key), ownerId, millisUp(holdFor));
  }

  /**
   * Makes the call after which an attempt has neither the lock nor a place in line.
   *
   * @param ownerId the owner id of the claim, or the prefix that its rounds share
   */
  public static Call withdraw(String prefix, LockKey key, String ownerId) {
    return new Call(Script.WITHDRAW, Keys.of(prefix, key), ownerId);
  }

  /** Makes the call that frees a lock if the grant with this number has it. */
  public static Call forceRelease(String prefix, LockKey key, long number) {
    return new Call(Script.FORCE_RELEASE, Keys.of(prefix, key), Long.toString(number));
  }

  /**
   * Makes the call that extends a renewed lease to its TTL.
   *
   * @param ownerId the owner id of the claim or, at a quorum, of one of its rounds
   */
  public static Call renew(String prefix, Claim claim, String ownerId) {
    return extending(Scripts.RENEW, prefix, claim, ownerId, claim.ttl());
  }

  /**
   * Makes the call that extends a fixed or handed-over lease or, with zero time, asks how much is
   * left of a lease.
   *
   * @param ownerId the owner id of the claim or, at a quorum, of one of its rounds
   */
  public static Call extend(String prefix, Claim claim, String ownerId, Duration ttl) {
    return extending(Scripts.EXTEND, prefix, claim, ownerId, ttl);
  }

  private static Call extending(
      Scripts scripts, String prefix, Claim claim, String ownerId, Duration ttl) {
    return new Call(scripts.of(claim.mode()), Keys.of(prefix, claim.key()), ownerId, millisUp(ttl));
  }

  /** Makes the call that asks who has a lock, or who has the permits of a semaphore. */
  public static Call look(String prefix, LockKey key) {
    return new Call(Script.LOOK, Keys.of(prefix, key));
  }

  /** Makes the call that keeps the number of a round's grant, if the round still has the lock. */
  public static Call commitNumber(String prefix, LockKey key, String ownerId, long number) {
    return new Call(Script.COMMIT_NUMBER, Keys.of(prefix, key), ownerId, Long.toString(number));
  }

  /**
   * Makes the call that registers one of several clients by its number, and asks for the number of
   * the one that came first with this key.
   *
   * @param number empty: cleans up
   */
  public static Call checkDistinct(String key, String number) {
    return new Call(Script.CHECK_DISTINCT, key, number);
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
    return rest(new CommandArguments(Protocol.Command.EVALSHA).add(script.sha));
  }

  CommandArguments byText() {
    return rest(new CommandArguments(Protocol.Command.EVAL).add(script.text));
  }

  private CommandArguments rest(CommandArguments command) {
    return command.add(keys.size()).keys(keys).addObjects(arguments);
  }
}
