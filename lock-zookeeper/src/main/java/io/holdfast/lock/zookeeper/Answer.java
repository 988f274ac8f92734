package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import java.util.Objects;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The server's answer to one request.
 *
 * @param value present if the code is {@code OK}, and sometimes otherwise
 */
record Answer<T>(Code code, @Nullable T value) {

  static <T> Answer<T> of(int code, @Nullable T value) {
    try {
      return new Answer<>(Code.get(code), value);
    } catch (IllegalArgumentException e) {
      // From a server that is newer than this client.
      return new Answer<>(Code.SYSTEMERROR, value);
    }
  }

  boolean isOk() {
    return code == Code.OK;
  }

  /** Whether there is no such node. */
  boolean isAbsent() {
    return code == Code.NONODE;
  }

  /**
   * Whether the session has expired, or its handle was closed. The request may have been carried
   * out. An ephemeral node that it made goes with the session, which the server may keep until its
   * timeout.
   */
  boolean isSessionOver() {
    return code == Code.SESSIONEXPIRED;
  }

  /** Whether there was no connection, or the connection was lost before the answer. */
  boolean isConnectionLost() {
    return code == Code.CONNECTIONLOSS;
  }

  /** Whether the request certainly changed nothing. */
  boolean isRefusal() {
    return switch (code) {
      case NONODE,
          NODEEXISTS,
          NOAUTH,
          INVALIDACL,
          AUTHFAILED,
          BADARGUMENTS,
          BADVERSION,
          NOCHILDRENFOREPHEMERALS,
          MARSHALLINGERROR,
          UNIMPLEMENTED,
          NOTREADONLY,
          QUOTAEXCEEDED,
          THROTTLEDOP -> true;
      default -> false;
    };
  }

  /** Returns the value. */
  T get() throws StoreException {
    requireOk();
    return Objects.requireNonNull(value);
  }

  void requireOk() throws StoreException {
    if (!isOk()) {
      throw failure();
    }
  }

  StoreException failure() {
    KeeperException cause = KeeperException.create(code);
    String message = "ZooKeeper: " + cause.getMessage();
    return isRefusal()
        ? StoreException.refused(message, cause)
        : StoreException.unanswered(message, cause);
  }
}
