package io.holdfast.lock.redis;

import io.holdfast.lock.redis.Server.WithoutPool;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The look at the servers of a quorum before they are used: each is recent enough, and no other.
 */
final class QuorumCheck {
  private final List<Voter> voters;
  private final String prefix;
  private final Duration storeTimeout;

  QuorumCheck(List<Voter> voters, String prefix, Duration storeTimeout) {
    this.voters = voters;
    this.prefix = prefix;
    this.storeTimeout = storeTimeout;
  }

  /**
   * Looks at the servers that answer now; a minority may be down.
   *
   * @throws IllegalStateException a server is too old, or two are one
   */
  void run() throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    checkVersions(deadline);
    checkThatNoneIsThereTwice(deadline);
  }

  private void checkVersions(Deadline deadline) {
    Call call = new Call(Script.CHECK, prefix + ":{check}");
    Votes<Long> versions = Votes.gather(
        voters.stream()
            .map(voter -> voter.ask(server ->
                server.run(call, WithoutPool.FAIL).reply() instanceof Long version ? version : 0L))
            .toList(),
        deadline,
        votes -> false);
    if (versions.count(version -> version < RedisStore.VERSION_MIN) > 0) {
      throw new IllegalStateException("A server is older than Redis 7.0, which is the oldest that"
          + " is supported: update it, or use Valkey");
    }
  }

  private void checkThatNoneIsThereTwice(Deadline deadline) throws StoreException {
    String key = prefix + ":{check}:" + UUID.randomUUID();
    List<CompletableFuture<String>> questions = new ArrayList<>();
    for (int i = 0; i < voters.size(); i++) {
      questions.add(introduce(voters.get(i), key, Integer.toString(i)));
    }
    Votes<String> introduced = Votes.gather(questions, deadline, votes -> false);
    for (Voter voter : voters) {
      CompletableFuture<String> unused = introduce(voter, key, "");
    }
    for (Votes.Answer<String> answer : introduced.answers()) {
      if (!answer.value().equals(Integer.toString(answer.voter()))) {
        throw new IllegalStateException("The clients at "
            + answer.value()
            + " and "
            + answer.voter()
            + " of the list lead to one server, which would have two votes: give each server one"
            + " client");
      }
    }
    if (introduced.isFailed() || introduced.answers().size() < introduced.majority()) {
      throw introduced.failure("Too few servers to lock");
    }
  }

  private static CompletableFuture<String> introduce(Voter voter, String key, String number) {
    Call call = new Call(Script.INTRODUCE, key, number);
    return voter.ask(server -> Reply.text(server.run(call, WithoutPool.FAIL).reply()));
  }
}
