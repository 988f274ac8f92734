package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.consul.ConsulGuard;
import io.holdfast.lock.consul.ConsulLocks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** An agent of Consul. A log is a folder of keys, in the order in which they were made. */
final class ConsulAccess implements Access {
  private static final MediaType JSON = MediaType.get("application/json");
  private static final int CONFLICT = 409;
  private static final int NOT_FOUND = 404;
  private static final int OK = 200;

  /** The value and the index of a key, in Consul's order. */
  private static final Pattern VALUE_AND_INDEX =
      Pattern.compile("\"Value\":\"([^\"]*)\",\"CreateIndex\":(\\d+)");

  private final OkHttpClient http = new OkHttpClient.Builder()
      .callTimeout(StoreKind.STORE_TIMEOUT.multipliedBy(3))
      .retryOnConnectionFailure(false)
      .build();
  private final String url;

  ConsulAccess(Address agent) {
    this.url = "http://" + agent;
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return ConsulLocks.builder(http, url);
  }

  @Override
  public void write(Lease lease, String entry) throws IOException {
    ConsulGuard guard = ConsulGuard.of(lease);
    String value = Base64.getEncoder().encodeToString(entry.getBytes(StandardCharsets.UTF_8));
    String body = "["
        + guard.operation()
        + ",{\"KV\":{\"Verb\":\"set\",\"Key\":\"" + folder(lease.name()) + entry
        + "\",\"Value\":\"" + value + "\"}}]";
    Request request = new Request.Builder()
        .url(url + "/v1/txn")
        .put(RequestBody.create(body, JSON))
        .build();
    try (Response response = http.newCall(request).execute()) {
      if (response.code() == CONFLICT) {
        throw guard.lost();
      } else if (response.code() != OK) {
        throw new IOException(response.body().string());
      }
    }
  }

  @Override
  public boolean leavesOpen(Exception failure) {
    return failure instanceof IOException;
  }

  private record Written(long index, String entry) {}

  @Override
  public List<String> written(String name) throws IOException {
    Matcher matcher = VALUE_AND_INDEX.matcher(
        get("/v1/kv/" + folder(name) + "?recurse&consistent").orElse(""));
    List<Written> written = new ArrayList<>();
    while (matcher.find()) {
      byte[] value = Base64.getDecoder().decode(matcher.group(1));
      written.add(
          new Written(Long.parseLong(matcher.group(2)), new String(value, StandardCharsets.UTF_8)));
    }
    return written.stream()
        .sorted(Comparator.comparingLong(Written::index))
        .map(Written::entry)
        .toList();
  }

  /** Returns the keys of locks and waiters. */
  @Override
  public List<String> leftovers(String namePrefix) throws IOException {
    return Pattern.compile("holdfast/m/[^\"]*")
        .matcher(get("/v1/kv/holdfast/m/" + namePrefix + "?keys&consistent").orElse(""))
        .results()
        .map(MatchResult::group)
        .toList();
  }

  private Optional<String> get(String path) throws IOException {
    try (Response response =
        http.newCall(new Request.Builder().url(url + path).build()).execute()) {
      String body = response.body().string();
      if (response.code() == NOT_FOUND) {
        return Optional.empty();
      } else if (response.code() != OK) {
        throw new IOException(response.code() + " " + body);
      }
      return Optional.of(body);
    }
  }

  private static String folder(String name) {
    return "torture-log/" + name + "/";
  }

  @Override
  public void close() {
    http.connectionPool().evictAll();
  }
}
