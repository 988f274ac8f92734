package io.holdfast.lock.consul;

import io.holdfast.lock.Lease;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Json;
import io.holdfast.lock.tck.GuardedWrites;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/** Logs in Consul: one key for each entry, in the order of their creation. */
final class ConsulGuardedWrites implements GuardedWrites {
  private final String address;

  ConsulGuardedWrites(String address) {
    this.address = address;
  }

  @Override
  public void create(String log) {
    // A log is all that is below its name: there is nothing to create.
  }

  @Override
  public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
    ConsulGuard guard = ConsulGuard.of(lease);
    String body = "["
        + guard.operation()
        + ",{\"KV\":{\"Verb\":\"set\",\"Key\":"
        + Json.quote(folder(log) + UUID.randomUUID())
        + ",\"Value\":\""
        + Base64.getEncoder().encodeToString(entry.getBytes(StandardCharsets.UTF_8))
        + "\"}}]";
    beforeEffect.run();
    TestHttp.Answer answer = new TestHttp(address).put("/v1/txn", body);
    if (answer.status() == 409) {
      throw guard.lost();
    } else if (answer.status() != 200) {
      throw new IOException(answer.body());
    }
  }

  @Override
  public List<String> read(String log) throws IOException {
    TestHttp.Answer answer =
        new TestHttp(address).get("/v1/kv/" + folder(log) + "?recurse&consistent");
    if (answer.status() == 404) {
      return List.of();
    }
    return ((List<?>) Json.parse(answer.body()))
        .stream()
            .map(Entry::of)
            .sorted(Comparator.comparingLong(Entry::createIndex))
            .map(Entry::value)
            .toList();
  }

  private static String folder(String log) {
    // The name of a log may have characters that a URI or JSON may not.
    return "kit-log/" + UUID.nameUUIDFromBytes(log.getBytes(StandardCharsets.UTF_8)) + "/";
  }
}
