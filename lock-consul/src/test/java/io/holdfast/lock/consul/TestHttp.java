package io.holdfast.lock.consul;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** Requests to Consul beside the locks: what a user's own code or an administrator would send. */
final class TestHttp {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private static final OkHttpClient CLIENT =
      new OkHttpClient.Builder().callTimeout(TIMEOUT).build();

  private final String address;
  private final String token;

  TestHttp(String address) {
    this(address, "");
  }

  TestHttp(String address, String token) {
    this.address = address;
    this.token = token;
  }

  /** An answer of the server. */
  record Answer(int status, String body) {}

  Answer put(String path, String body) throws IOException {
    return send(request(path).put(RequestBody.create(body, null)).build());
  }

  Answer delete(String path) throws IOException {
    return send(request(path).delete().build());
  }

  Answer get(String path) throws IOException {
    return send(request(path).build());
  }

  /** Returns the names of the keys below a prefix. */
  List<String> keys(String prefix) throws IOException {
    List<String> keys = new ArrayList<>();
    Answer answer = get("/v1/kv/" + prefix + "?keys");
    if (answer.status() == 200) {
      ((List<?>) Json.parse(answer.body())).forEach(key -> keys.add((String) key));
    }
    return keys;
  }

  /** Returns the keys below a prefix. */
  List<Entry> entries(String prefix) throws IOException {
    List<Entry> entries = new ArrayList<>();
    Answer answer = get("/v1/kv/" + prefix + "?recurse");
    if (answer.status() == 200) {
      ((List<?>) Json.parse(answer.body())).forEach(entry -> entries.add(Entry.of(entry)));
    }
    return entries;
  }

  /** Returns the ids of all sessions. */
  List<String> sessions() throws IOException {
    List<String> ids = new ArrayList<>();
    ((List<?>) Json.parse(get("/v1/session/list").body()))
        .forEach(session -> ids.add((String) ((Map<?, ?>) session).get("ID")));
    return ids;
  }

  /** Creates a session with a TTL, and returns its id. */
  String createSession() throws IOException {
    Answer made = put("/v1/session/create", "{\"TTL\":\"60s\"}");
    if (made.status() != 200) {
      throw new IOException("No session was made: " + made);
    }
    return (String) ((Map<?, ?>) Json.parse(made.body())).get("ID");
  }

  /**
   * Waits until sessions can be created. Before, the leader refuses them: it registers the node of
   * an agent some time after it joined, and its own some time after its election.
   */
  void awaitSessions() {
    Await.until("sessions can be made at " + address, () -> {
      try {
        destroySession(createSession());
        return true;
      } catch (IOException e) {
        return false;
      }
    });
  }

  /** Returns the session that has locked a key. */
  String sessionOf(String key) throws IOException {
    return Entry.of(((List<?>) Json.parse(get("/v1/kv/" + key).body())).get(0)).session();
  }

  void destroySession(String id) throws IOException {
    if (put("/v1/session/destroy/" + id, "").status() != 200) {
      throw new IOException("The session was not destroyed");
    }
  }

  private Request.Builder request(String path) {
    Request.Builder request = new Request.Builder().url(address + path);
    return token.isEmpty() ? request : request.header("X-Consul-Token", token);
  }

  private static Answer send(Request request) throws IOException {
    try (Response response = CLIENT.newCall(request).execute()) {
      return new Answer(response.code(), response.body().string());
    }
  }
}
