package io.holdfast.lock.consul.http;

import org.jspecify.annotations.Nullable;

/**
 * An answer by Consul, or by something else at its address, such as a gateway.
 *
 * @param index the Raft index in its header, which all of Consul's answers about keys have; null:
 *     none
 * @param resent whether the request was sent before, without an answer
 */
record Answer(int status, String body, @Nullable String index, boolean resent) {
  /** Returns the body as JSON; null: it is not JSON. */
  @Nullable
  Object json() {
    try {
      return Json.parse(body);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
