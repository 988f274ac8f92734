package io.holdfast.lock.bench.candidate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import okhttp3.ConnectionPool;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * A bare program for Consul: two transactions, lock and unlock, in a session that lasts until it is
 * destroyed. A client that finds the lock taken asks for the key's next change.
 */
final class BareConsul implements Client {
  private static final MediaType JSON = MediaType.get("application/json");
  private static final int POOL_SIZE = 16;

  private final ObjectMapper json = new ObjectMapper();
  private final Gate gate = new Gate();
  private final String url;
  private final OkHttpClient http = new OkHttpClient.Builder()
      .connectionPool(new ConnectionPool(POOL_SIZE, 5, TimeUnit.MINUTES))
      .readTimeout(30, TimeUnit.SECONDS)
      .build();
  private final String session;

  BareConsul(String url) throws IOException {
    this.url = url;
    try (Response response = put("/v1/session/create", "{\"LockDelay\": \"0s\", \"Checks\": []}")) {
      session = json.readTree(response.body().string()).get("ID").asText();
    }
  }

  private Response put(String path, String body) throws IOException {
    return http.newCall(new Request.Builder()
            .url(url + path)
            .put(RequestBody.create(body, JSON))
            .build())
        .execute();
  }

  @Override
  public Mutex mutex(String name) {
    String key = "bench-floor/" + name;
    ReentrantLock local = gate.of(name);
    String lock = transaction("lock", key);
    String unlock = transaction("unlock", key);
    return Mutex.of(
        () -> {
          local.lock();
          while (!perform(lock)) {
            awaitFree(key);
          }
        },
        () -> {
          if (!perform(unlock)) {
            throw new IOException("the lock is lost");
          }
          local.unlock();
        });
  }

  private String transaction(String verb, String key) {
    return "[{\"KV\": {\"Verb\": \"" + verb + "\", \"Key\": \"" + key
        + "\", \"Value\": \"\", \"Session\": \"" + session + "\"}}]";
  }

  private boolean perform(String transaction) throws IOException {
    try (Response response = put("/v1/txn", transaction)) {
      response.body().bytes(); // Read, so that the connection can be used again.
      if (response.code() != 200 && response.code() != 409) {
        throw new IOException("Consul answered " + response.code());
      }
      return response.code() == 200;
    }
  }

  private void awaitFree(String key) throws IOException {
    String index = "0";
    while (true) {
      Request request = new Request.Builder()
          .url(url + "/v1/kv/" + key + "?wait=10s&index=" + index)
          .build();
      try (Response response = http.newCall(request).execute()) {
        String body = response.body().string();
        index = response.header("X-Consul-Index", "0");
        JsonNode entry = body.isEmpty() ? json.createArrayNode() : json.readTree(body);
        if (entry.path(0).path("Session").asText("").isEmpty()) {
          return;
        }
      }
    }
  }
}
