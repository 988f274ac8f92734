package io.holdfast.lock.consul;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Requests to Consul beside the locks: what a user's own code or an administrator would send. */
final class TestHttp {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final HttpClient client = HttpClient.newHttpClient();
  private final String address;
  private final String token;

  TestHttp(String address) {
    this(address, "");
  }

  TestHttp(String address, String token) {
    this.address = address;
    this.token = token;
  }

  HttpResponse<String> put(String path, String body) throws IOException {
    return send(request(path).PUT(HttpRequest.BodyPublishers.ofString(body)).build());
  }

  HttpResponse<String> get(String path) throws IOException {
    return send(request(path).build());
  }

  /** The keys below a prefix. */
  List<String> keys(String prefix) throws IOException {
    List<String> keys = new ArrayList<>();
    HttpResponse<String> answer = get("/v1/kv/" + prefix + "?keys");
    if (answer.statusCode() == 200) {
      ((List<?>) Json.parse(answer.body())).forEach(key -> keys.add((String) key));
    }
    return keys;
  }

  /** The ids of all sessions. */
  List<String> sessions() throws IOException {
    List<String> ids = new ArrayList<>();
    ((List<?>) Json.parse(get("/v1/session/list").body()))
        .forEach(session -> ids.add((String) ((Map<?, ?>) session).get("ID")));
    return ids;
  }

  void destroySession(String id) throws IOException {
    if (put("/v1/session/destroy/" + id, "").statusCode() != 200) {
      throw new IOException("The session was not destroyed");
    }
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address + path)).timeout(TIMEOUT);
    return token.isEmpty() ? request : request.header("X-Consul-Token", token);
  }

  private HttpResponse<String> send(HttpRequest request) throws IOException {
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
