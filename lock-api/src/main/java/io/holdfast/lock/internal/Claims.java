package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;

/** Makes the claims of one client. */
final class Claims {
  private final AttemptIds attemptIds = new AttemptIds();
  private final String process;

  Claims(String clientName, String hostName) {
    this.process = (clientName.equals(hostName) ? "" : clientName + " on ")
        + hostName
        + ", process "
        + ProcessHandle.current().pid()
        + ", thread ";
  }

  Claim next(LockKey key, LockOptions options) {
    return new Claim(key, attemptIds.next(), options.ttl(), options.minHold(), holder());
  }

  private String holder() {
    Thread thread = Thread.currentThread();
    String name = thread.getName();
    String holder = process + (name.isEmpty() ? "#" + thread.getId() : name);
    return holder.length() <= Claim.HOLDER_LENGTH_MAX ? holder : cut(holder);
  }

  private static String cut(String holder) {
    int end = Claim.HOLDER_LENGTH_MAX;
    return holder.substring(0, Character.isHighSurrogate(holder.charAt(end - 1)) ? end - 1 : end);
  }
}
