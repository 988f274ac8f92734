package io.holdfast.lock.consul.http;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A key as Consul shows it.
 *
 * @param session the session that has locked it; empty: none
 * @param flags a number that its last writer chose
 * @param createIndex the Raft index at which it was created
 * @param modifyIndex the Raft index of its last change: a write, or the end of its session
 */
public record Entry(
    String key, String value, String session, long flags, long createIndex, long modifyIndex) {

  /** Reads an entry from its JSON object. */
  public static Entry of(Object json) {
    if (!(json instanceof Map<?, ?> kv
        && kv.get("Key") instanceof String key
        && kv.get("CreateIndex") instanceof Long createIndex
        && kv.get("ModifyIndex") instanceof Long modifyIndex)) {
      throw new IllegalArgumentException("No key-value entry");
    }
    return new Entry(
        key,
        text(kv.get("Value")),
        kv.get("Session") instanceof String session ? session : "",
        kv.get("Flags") instanceof Long flags ? flags : 0,
        createIndex,
        modifyIndex);
  }

  /**
   * Returns a key as a transaction shows it; null: it does not. Of a key that the transaction also
   * wrote to, the last is valid.
   */
  public static @Nullable Entry find(List<Entry> shown, String key) {
    return shown.stream()
        .filter(entry -> entry.key().equals(key))
        .reduce((before, last) -> last)
        .orElse(null);
  }

  private static String text(@Nullable Object value) {
    return value instanceof String base64
        ? new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8)
        : "";
  }
}
