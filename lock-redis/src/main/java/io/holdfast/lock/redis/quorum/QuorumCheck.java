package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.redis.quorum.Voter.Lane;
import io.holdfast.lock.redis.server.Call;
import io.holdfast.lock.redis.server.Reply;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.redis.server.Server.Mode;
import io.holdfast.lock.redis.server.ServerFacts;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The check of a quorum's servers before they are used: each must be recent enough, and all must be
 * different servers.
 */
final class QuorumCheck {
  private QuorumCheck() {}

  /**
   * Checks the servers that answer now; a minority may be down.
   *
   * @throws IllegalStateException a server is too old, or two clients lead to the same server
   */
  static void run(List<Voter> voters, String prefix, Deadline deadline) throws StoreException {
    String key = prefix + ":{check}:" + UUID.randomUUID();
    List<CompletableFuture<Optional<String>>> questions = new ArrayList<>();
    for (int i = 0; i < voters.size(); i++) {
      String number = Integer.toString(i);
      questions.add(
          voters.get(i).ask(Lane.ACQUIRE, server -> findProblem(server, prefix, key, number)));
    }
    Votes<Optional<String>> votes = Votes.gather(questions, deadline, soFar -> false);
    for (Voter voter : voters) {
      CompletableFuture<String> unused =
          voter.ask(Lane.ACQUIRE, server -> register(server, key, ""));
    }
    votes.answers.stream().flatMap(Optional::stream).findFirst().ifPresent(problem -> {
      throw new IllegalStateException(problem);
    });
    if (!votes.isAnswered()) {
      throw votes.failure("Too few servers to lock");
    }
  }

  private static Optional<String> findProblem(
      Server server, String prefix, String key, String number) throws StoreException {
    Optional<String> problem = ServerFacts.ask(server, prefix).findProblem();
    if (problem.isPresent()) {
      return problem;
    }
    String first = register(server, key, number);
    return first.equals(number)
        ? Optional.empty()
        : Optional.of(("The clients at %s and %s of the list lead to one server, which would have"
                + " two votes: give each server one client")
            .formatted(first, number));
  }

  /**
   * Registers a client by its number; no number: cleans up.
   *
   * @return the number of the client that came first with this key
   */
  private static String register(Server server, String key, String number) throws StoreException {
    return Reply.text(server.run(Call.checkDistinct(key, number), Mode.ASK).reply());
  }
}
