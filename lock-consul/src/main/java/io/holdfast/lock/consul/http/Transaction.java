package io.holdfast.lock.consul.http;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** The operations of one transaction, as the body of its request. */
public final class Transaction {
  /** The most operations that every version of Consul takes. */
  public static final int OPERATIONS_MAX = 64;

  private final List<String> operations = new ArrayList<>();

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

  /**
   * Writes to the key and locks it by the session; creates it if it is missing. Fails if another
   * session has it or this one has ended. A session may lock its own key again, which is then a
   * plain write.
   */
  public Transaction lock(String key, String value, String session) {
    return add("lock", key, ",\"Flags\":0,\"Session\":" + Json.quote(session) + value(value));
  }

  /** Writes to the key if nothing wrote to it since that index; else the transaction fails. */
  public Transaction setAt(String key, long modifyIndex, String value, long flags) {
    return add("cas", key, index(modifyIndex) + ",\"Flags\":" + flags + value(value));
  }

  /** Reads all keys that begin with this text, which need not be a folder. */
  public Transaction tree(String prefix) {
    return add("get-tree", prefix, "");
  }

  /** Fails unless the key exists and was last written to at that index. */
  public Transaction checkIndex(String key, long modifyIndex) {
    return add("check-index", key, index(modifyIndex));
  }

  /** Fails if the key exists. */
  public Transaction checkNotExists(String key) {
    return add("check-not-exists", key, "");
  }

  public Transaction delete(String key) {
    return add("delete", key, "");
  }

  /** Deletes all keys that begin with the prefix. */
  public Transaction deleteTree(String prefix) {
    return add("delete-tree", prefix, "");
  }

  /**
   * Deletes the key if nothing wrote to it since that index; else the transaction fails. A missing
   * key is no failure.
   */
  public Transaction deleteAt(String key, long modifyIndex) {
    return add("delete-cas", key, index(modifyIndex));
  }

  private static String index(long modifyIndex) {
    return ",\"Index\":" + modifyIndex;
  }

  private static String value(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return ",\"Value\":\"" + Base64.getEncoder().encodeToString(bytes) + "\"";
  }

  private Transaction add(String verb, String key, String rest) {
    operations.add("{\"KV\":{\"Verb\":\"" + verb + "\",\"Key\":" + Json.quote(key) + rest + "}}");
    return this;
  }

  /** Returns the operations as JSON, with commas between. */
  public String operations() {
    return String.join(",", operations);
  }

  String body() {
    return "[" + operations() + "]";
  }
}
