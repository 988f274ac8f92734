package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import okhttp3.Interceptor;
import okhttp3.Request;
import okhttp3.Response;
import okio.Buffer;

/**
 * The requests that Consul was sent, below the calls that they were sent for. Those that other
 * threads sent for a call stand after its own, and all long polls, which come when they like, at
 * the end.
 */
final class Sent implements Interceptor {
  private static final Path EXPECTED =
      Path.of("src/test/resources/io/holdfast/lock/consul/sent.txt");
  private static final Path SEEN = Path.of("target/sent.txt");
  private static final String LEGEND =
      "What the mutex sends to Consul. Below each transaction stand its operations.\n";

  private static final Pattern ID =
      Pattern.compile("\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b");
  private static final List<String> SESSIONS = List.of("<session>", "<witness>");

  private final Thread thread = Thread.currentThread();
  private final Map<String, String> names = new LinkedHashMap<>();
  private final StringBuilder all = new StringBuilder(LEGEND);

  // All fields below are guarded by the monitor.
  private final List<String> own = new ArrayList<>();
  private final List<String> others = new ArrayList<>();
  private final Set<String> longPolls = new TreeSet<>();
  private final Map<String, String> sessions = new LinkedHashMap<>();
  private int answeredToOthers;

  /** Writes a name in place of a text. */
  void name(String text, String name) {
    names.put(text, name);
  }

  @Override
  public Response intercept(Chain chain) throws IOException {
    Request request = chain.request();
    boolean isOther = Thread.currentThread() != thread;
    boolean isLongPoll = request.url().queryParameter("wait") != null;
    synchronized (this) {
      String text = text(request);
      if (isLongPoll) {
        longPolls.add(text);
      } else if (isOther) {
        others.add(text);
      } else {
        own.add(text);
      }
    }
    Response response = chain.proceed(request);
    if (isOther && !isLongPoll) {
      synchronized (this) {
        answeredToOthers++;
      }
    }
    return response;
  }

  /** Takes a step, and writes down what was sent for it. */
  <T> T by(String call, Callable<T> step) throws Exception {
    return by(call, 0, step);
  }

  /** @param after the number of requests that the step causes, and does not wait for */
  <T> T by(String call, int after, Callable<T> step) throws Exception {
    synchronized (this) {
      own.clear();
      others.clear();
      answeredToOthers = 0;
    }
    T result = step.call();
    Await.until(call, () -> answeredToOthers() >= after);
    synchronized (this) {
      title(call);
      if (own.isEmpty() && others.isEmpty()) {
        line("nothing");
      }
      own.forEach(this::line);
      if (!others.isEmpty()) {
        line("on other threads:");
        others.forEach(this::line);
      }
    }
    return result;
  }

  /** Waits until that many long polls were sent, those that look the same taken for one. */
  void awaitLongPolls(int count) {
    Await.until("long polls are sent", () -> longPolls() >= count);
  }

  private synchronized int longPolls() {
    return longPolls.size();
  }

  /** Names sessions anew, since they are another client's from now on. */
  synchronized void forgetSessions() {
    sessions.clear();
  }

  private synchronized int answeredToOthers() {
    return answeredToOthers;
  }

  private void title(String title) {
    all.append('\n').append(title).append("\n\n");
  }

  private void line(String line) {
    all.append("  ").append(line).append('\n');
  }

  /** Writes down something that is no request. */
  void note(String what, String text) {
    title(what);
    synchronized (this) {
      line(named(text));
    }
  }

  private String text(Request request) throws IOException {
    StringBuilder text = new StringBuilder(request.method()).append(' ');
    text.append(request.url().encodedPath());
    String query = request.url().encodedQuery();
    text.append(query == null ? "" : "?" + query);
    Buffer body = new Buffer();
    if (request.body() != null) {
      request.body().writeTo(body);
    }
    String content = body.readUtf8();
    if (request.url().encodedPath().equals("/v1/txn")) {
      for (Object one : (List<?>) Json.parse(content)) {
        text.append("\n      ").append(operation((Map<?, ?>) ((Map<?, ?>) one).get("KV")));
      }
    } else if (!content.isEmpty()) {
      text.append("\n      ").append(content);
    }
    return named(text.toString());
  }

  private static String operation(Map<?, ?> operation) {
    StringBuilder text = new StringBuilder();
    operation.forEach((what, value) -> {
      text.append(text.isEmpty() ? "" : " ");
      if (what.equals("Value")) {
        byte[] bytes = Base64.getDecoder().decode((String) value);
        text.append("Value='").append(new String(bytes, StandardCharsets.UTF_8)).append("'");
      } else if (what.equals("Verb") || what.equals("Key")) {
        text.append(value);
      } else {
        text.append(what).append('=').append(value);
      }
    });
    return text.toString();
  }

  private String named(String text) {
    String named = text;
    for (Map.Entry<String, String> name : names.entrySet()) {
      named = named.replace(name.getKey(), name.getValue());
    }
    named = named.replaceAll("'write [0-9a-f-]{36}'", "'write <id>'");
    return ID.matcher(named)
        .replaceAll(this::session)
        .replaceAll("\\b[0-9a-f]{32}\\b", "<owner>")
        .replaceAll("\"Node\":\"[^\"]*\"", "\"Node\":\"<node>\"")
        .replaceAll("\\b\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", "<time>")
        .replaceAll("((?i)index[=\":]+)[1-9]\\d*", "$1<index>")
        .replaceAll("'(attempt|released) (\\d+) [1-9]\\d*", "'$1 $2 <index>")
        .replaceAll("('taken by force: \\S+) \\d+", "$1 <index>");
  }

  private String session(MatchResult id) {
    return sessions.computeIfAbsent(
        id.group(), unused -> SESSIONS.get(Math.min(sessions.size(), SESSIONS.size() - 1)));
  }

  /** Writes a file of all that was sent, and compares it with the checked-in one. */
  void check() throws IOException {
    title("Long polls, on threads of their own");
    synchronized (this) {
      longPolls.forEach(this::line);
    }
    Files.createDirectories(SEEN.getParent());
    Files.writeString(SEEN, all);
    assertThat(SEEN)
        .as("If the change is meant, copy lock-consul/%s to lock-consul/%s", SEEN, EXPECTED)
        .hasSameTextualContentAs(EXPECTED);
  }
}
