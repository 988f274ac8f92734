package io.holdfast.lock.redis.server;

import io.holdfast.lock.redis.server.Server.Mode;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The facts about a server that decide whether it is used.
 *
 * @param version as of Redis: major * 65536 + minor * 256 + patch; 0 before 7.0
 * @param appendOnly {@code 1} if it has an append-only file, {@code 0} if it has none, and nothing
 *     if it does not tell
 */
public record ServerFacts(long version, String appendOnly) {
  private static final Logger log = LoggerFactory.getLogger(ServerFacts.class);

  private static final int VERSION_MIN = 7 << 16;

  /** Asks the server that has the key {@code {check}}. */
  public static ServerFacts ask(Server server, String prefix) throws StoreException {
    Object reply =
        server.run(new Call(Script.CHECK, prefix + ":{check}"), Mode.ASK).reply();
    return reply instanceof List<?> facts && facts.get(0) instanceof Long version
        ? new ServerFacts(version, Reply.text(facts.get(1)))
        : new ServerFacts(0, "");
  }

  /** Returns why the server can't be used, if it can't; warns if it can forget a lock. */
  public Optional<String> findProblem() {
    if (version < VERSION_MIN) {
      return Optional.of("A server is older than Redis 7.0, which is the oldest that is supported:"
          + " update it, or use Valkey");
    }
    if (appendOnly.equals("0")) {
      log.warn("Redis can forget a lock that it has confirmed, so that two hold it: with appendonly"
          + " no, by any crash of the server (see \"What a crash can take\" on the page about"
          + " Redis)");
    } else if (appendOnly.isEmpty()) {
      log.debug("Whether Redis keeps what it confirms is not known: it does not answer to INFO");
    }
    return Optional.empty();
  }
}
