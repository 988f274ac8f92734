package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import java.security.SecureRandom;
import java.util.HexFormat;

/** Makes the claims of one client. */
final class Claims {
  private static final int OWNER_ID_BYTES = 16;

  private final SecureRandom random = new SecureRandom();
  private final String process;

  Claims(String clientName, String hostName) {
    this.process = (clientName.equals(hostName) ? "" : clientName + " on ")
        + hostName
        + ", process "
        + ProcessHandle.current().pid()
        + ", thread ";
  }

  Claim next(Request request) {
    LockOptions options = request.options();
    // Not generated in advance: two processes restored from one snapshot would use equal ids, and a
    // store would take the second one's request for a repetition of the first.
    byte[] ownerId = new byte[OWNER_ID_BYTES];
    random.nextBytes(ownerId);
    return new Claim(
        request.key(),
        request.mode(),
        HexFormat.of().formatHex(ownerId),
        options.ttl(),
        options.minHold(),
        holder());
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
