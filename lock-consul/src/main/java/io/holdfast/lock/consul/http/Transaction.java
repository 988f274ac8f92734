package io.holdfast.lock.consul.http;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** The operations of one transaction, as the body of its request. */
public final class Transaction {
  /** The most operations that every version of Consul takes. */
  public static final int OPERATIONS_MAX = 64;

  private final StringBuilder body = new StringBuilder("[");

  /**
   * Splits a list into parts that fit into one transaction, with one operation for each element.
   */
  public static <T> List<List<T>> parts(List<T> all) {
    return parts(all, OPERATIONS_MAX);
  }

  /** Splits a list into parts of at most {@code max} elements. */
  public static <T> List<List<T>> parts(List<T> all, int max) {
    List<List<T>> parts = new ArrayList<>();
    for (int from = 0; from < all.size(); from += max) {
      parts.add(all.subList(from, Math.min(all.size(), from + max)));
    }
    return parts;
  }

  public Transaction lock(String key, String value, String session) {
    begin("lock", key)
        .append(",\"Flags\":0,\"Session\":")
        .append(Json.quote(session))
        .append(value(value));
    return this;
  }

  /** Writes to the key if nothing wrote to it since that index; else the transaction fails. */
  public Transaction setAt(String key, long modifyIndex, String value, long flags) {
    begin("cas", key)
        .append(",\"Index\":")
        .append(modifyIndex)
        .append(",\"Flags\":")
        .append(flags)
        .append(value(value));
    return this;
  }

  private static String value(String text) {
    return ",\"Value\":\""
        + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8))
        + "\"}}";
  }

  public Transaction tree(String prefix) {
    begin("get-tree", prefix).append("}}");
    return this;
  }

  /** Fails unless the key exists and was last written to at that index. */
  public Transaction checkIndex(String key, long modifyIndex) {
    begin("check-index", key).append(",\"Index\":").append(modifyIndex).append("}}");
    return this;
  }

  /** Fails if the key exists. */
  public Transaction checkNotExists(String key) {
    begin("check-not-exists", key).append("}}");
    return this;
  }

  public Transaction delete(String key) {
    begin("delete", key).append("}}");
    return this;
  }

  /** Deletes all keys that begin with the prefix. */
  public Transaction deleteTree(String prefix) {
    begin("delete-tree", prefix).append("}}");
    return this;
  }

  /**
   * Deletes the key if nothing wrote to it since that index; else the transaction fails. A missing
   * key is no failure.
   */
  public Transaction deleteAt(String key, long modifyIndex) {
    begin("delete-cas", key).append(",\"Index\":").append(modifyIndex).append("}}");
    return this;
  }

  private StringBuilder begin(String verb, String key) {
    if (body.length() > 1) {
      body.append(',');
    }
    return body.append("{\"KV\":{\"Verb\":\"")
        .append(verb)
        .append("\",\"Key\":")
        .append(Json.quote(key));
  }

  String body() {
    return body + "]";
  }
}
