package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import java.util.Objects;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * What the server said to one request.
 *
 * @param value there if the code is {@code OK}, and sometimes otherwise
 */
record Answer<T>(Code code, @Nullable T value) {

  static <T> Answer<T> of(int code, @Nullable T value) {
    Code known = Code.get(code);
    // From a server that is younger than this client.
    return new Answer<>(known == null ? Code.SYSTEMERROR : known, value);
  }

  boolean isOk() {
    return code == Code.OK;
  }

  /** No such node. */
  boolean isAbsent() {
    return code == Code.NONODE;
  }

  /** The session is over, so nothing of the request is left, or will be. */
  boolean isSessionOver() {
    return code == Code.SESSIONEXPIRED;
  }

  /** There was no connection, or none any more when the answer was due. */
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

  /** The value. */
  T get() throws StoreException {
    if (!isOk()) {
      throw failure();
    }
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
