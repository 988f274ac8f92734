package io.holdfast.lock.consul.http;

import io.holdfast.lock.consul.ConsulException;
import io.holdfast.lock.spi.StoreException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import okhttp3.HttpUrl;
import org.jspecify.annotations.Nullable;

/**
 * The meaning of Consul's answers, and of the lack of one: the outcome of a transaction, or a
 * failure, which tells whether the request may have been carried out.
 */
final class Answers {
  private static final int BODY_SHOWN_MAX = 200;
  private static final String MESSAGE_OF_NO_LEADER = "no cluster leader";

  /**
   * The failures of operations that tell the state of a key or session. Any other is a failure of
   * Consul's, and tells nothing. Keys have no spaces, so none looks like one of these texts.
   */
  private static final Pattern OF_THE_STATE = Pattern.compile(
      "index is stale|current modify index|\" exists|\" doesn't exist|already held|invalid session");

  private final HttpUrl base;
  private final Problems problems;

  /** @param base the address of the agent */
  Answers(HttpUrl base, Problems problems) {
    this.base = base;
    this.problems = problems;
  }

  /** Reads the answer to a transaction. */
  Outcome outcome(Answer answer) throws StoreException {
    if (!(answer.json() instanceof Map<?, ?> json && json.containsKey("Results"))) {
      throw notConsuls(answer);
    }
    try {
      if (json.get("Errors") instanceof List<?> errors && !errors.isEmpty()) {
        return new Outcome(List.of(), failures(errors, answer), answer.resent());
      }
      List<Entry> entries = new ArrayList<>();
      if (json.get("Results") instanceof List<?> results) {
        for (Object result : results) {
          if (result instanceof Map<?, ?> map && map.get("KV") instanceof Map<?, ?> kv) {
            entries.add(Entry.of(kv));
          }
        }
      }
      return new Outcome(entries, List.of(), answer.resent());
    } catch (IllegalArgumentException e) {
      throw StoreException.unanswered("Consul's answer can't be read: " + e.getMessage(), e);
    }
  }

  /** Makes the failure for an answer that is not Consul's, but a gateway's or another server's. */
  StoreException notConsuls(Answer answer) {
    String body = answer.body().strip();
    String shown = body.substring(0, Math.min(body.length(), BODY_SHOWN_MAX));
    return StoreException.unanswered(
        ("What answered at %s is not Consul's HTTP API: is the address right, with the path before"
                + " /v1 if there is one? It answered %s, with the text '%s'")
            .formatted(base, answer.status(), shown),
        null);
  }

  private List<Outcome.Failure> failures(List<?> errors, Answer answer) throws StoreException {
    List<Outcome.Failure> failures = new ArrayList<>(errors.size());
    for (Object one : errors) {
      if (!(one instanceof Map<?, ?> error
          && error.get("OpIndex") instanceof Long operation
          && error.get("What") instanceof String what)) {
        throw new IllegalArgumentException("Unknown kind of error");
      }
      if (!OF_THE_STATE.matcher(what).find()) {
        throw failure(answer.status(), what, answer.resent());
      }
      failures.add(new Outcome.Failure(operation, what));
    }
    return failures;
  }

  /** Makes the failure for a request whose time is over before it is sent, or sent again. */
  StoreException outOfTime(boolean resent) {
    return failure(resent, "Consul at " + base + " did not answer in time", null);
  }

  static boolean isUnreachable(IOException e) {
    return e instanceof ConnectException || e instanceof UnknownHostException;
  }

  /** Makes the failure for a request that got no answer. */
  StoreException failure(IOException e, boolean resent) {
    String what = "Consul at " + base;
    if (isUnreachable(e)) {
      return failure(resent, what + " can't be reached: " + e, e);
    }
    return StoreException.unanswered(
        what
            + (e instanceof InterruptedIOException
                ? " did not answer in time"
                : " gave no answer: " + e),
        e);
  }

  /** Returns a reply as an answer, unless it is the refusal of one. */
  Answer of(Hedging.Reply reply, boolean resent) throws StoreException {
    if (!reply.isAnswer()) {
      throw failure(reply.status(), reply.body(), resent);
    }
    return new Answer(reply.status(), reply.body(), reply.index(), resent);
  }

  private static boolean isAclProblem(String message) {
    return message.contains("Permission denied") || message.contains("ACL not found");
  }

  /** Makes the failure for a request that Consul refused. */
  StoreException failure(int status, String body, boolean resent) {
    String message = body.strip();
    ConsulException.Problem problem;
    if (status == 403 || isAclProblem(message)) {
      problem = ConsulException.Problem.ACL_DENIED;
    } else if (status == 429) {
      problem = ConsulException.Problem.TOO_MANY_REQUESTS;
    } else if (message.toLowerCase(Locale.ROOT).contains(MESSAGE_OF_NO_LEADER)) {
      problem = ConsulException.Problem.NO_LEADER;
    } else {
      problem = ConsulException.Problem.OTHER;
    }
    String text = "Consul answered " + status + ": " + message;
    if (problem == ConsulException.Problem.ACL_DENIED) {
      text +=
          ". The token must be known, with the right to write sessions, and keys that begin with"
              + " the client's prefix and '/'";
    }
    Exception cause = problems.cause(problem, status, text);
    // A leader that fails while it commits may have carried out the request.
    return failure(resent || status >= 500, text, cause);
  }

  private static StoreException failure(
      boolean mayHaveHappened, String message, @Nullable Throwable cause) {
    return mayHaveHappened
        ? StoreException.unanswered(message, cause)
        : StoreException.refused(message, cause);
  }
}
