package io.holdfast.lock.redis;

import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;

/**
 * A script with its keys and arguments.
 *
 * @param keys not empty; the first one says which server it is
 * @param isAsking whether the server is to be told first that it was named by another
 * @param replicas who must have what a grant wrote before it counts; null: nobody
 */
record Call(
    Script script,
    List<String> keys,
    List<?> arguments,
    boolean isAsking,
    @Nullable Replicas replicas) {

  /** Of a script of ours: they have one key each, so that no Cluster can have taken them apart. */
  Call(Script script, String key, Object... arguments) {
    this(script, List.of(key), List.of(arguments), false, null);
  }

  /** With a grant that counts only once it is on these replicas. */
  Call confirmedBy(@Nullable Replicas replicas) {
    return replicas == null ? this : new Call(script, keys, arguments, isAsking, replicas);
  }

  String key() {
    return keys.get(0);
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
