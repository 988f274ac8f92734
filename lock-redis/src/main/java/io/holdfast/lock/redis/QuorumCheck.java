package io.holdfast.lock.redis;

import io.holdfast.lock.redis.Server.WithoutPool;
import io.holdfast.lock.redis.Voter.Lane;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The check of a quorum's servers before they are used: each must be recent enough, and all must be
 * different servers.
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
   * Checks the servers that answer now; a minority may be down.
   *
   * @throws IllegalStateException a server is too old, or two clients lead to the same server
   */
  void run() throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    checkVersions(deadline);
    checkThatNoneIsThereTwice(deadline);
  }

  private void checkVersions(Deadline deadline) {
    Votes<Boolean> recent = Votes.gather(
        voters.stream()
            .map(voter -> voter.ask(Lane.ACQUIRE, server -> server.isRecent(prefix)))
            .toList(),
        deadline,
        votes -> false);
    if (recent.count(isRecent -> !isRecent) > 0) {
      throw new IllegalStateException(Server.TOO_OLD);
    }
  }

  private void checkThatNoneIsThereTwice(Deadline deadline) throws StoreException {
    String key = prefix + ":{check}:" + UUID.randomUUID();
    List<CompletableFuture<String>> questions = new ArrayList<>();
    for (int i = 0; i < voters.size(); i++) {
      questions.add(checkDistinct(voters.get(i), key, Integer.toString(i)));
    }
    Votes<String> first = Votes.gather(questions, deadline, votes -> false);
    for (Voter voter : voters) {
      CompletableFuture<String> unused = checkDistinct(voter, key, "");
    }
    for (Votes.Answer<String> answer : first.answers()) {
      if (!answer.value().equals(Integer.toString(answer.voter()))) {
        throw new IllegalStateException("The clients at "
            + answer.value()
            + " and "
            + answer.voter()
            + " of the list lead to one server, which would have two votes: give each server one"
            + " client");
      }
    }
    if (first.answers().size() < first.majority()) {
      throw first.failure("Too few servers to lock");
    }
  }

  private static CompletableFuture<String> checkDistinct(Voter voter, String key, String number) {
    Call call = new Call(Script.CHECK_DISTINCT, key, number);
    return voter.ask(
        Lane.ACQUIRE, server -> Reply.text(server.run(call, WithoutPool.FAIL).reply()));
  }
}
