package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The names of the nodes of locks, attempts and marks. */
final class Names {
  /**
   * The prefix of a mark's name; it does not begin with a hexadecimal digit, so no owner id begins
   * with it.
   */
  static final String MARK_PREFIX = "hold-";

  /** Stands for the permit of an attempt that has none in its name. */
  static final int NO_PERMIT = -1;

  /** The name of the node that is written to get the leader's time; no lock's node has it. */
  static final String CLOCK = "clock";

  private Names() {}

  /**
   * Returns the name of a lock's node: its kind, then its name, in which all characters except
   * ASCII letters, digits and a few signs are written as hexadecimal UTF-8 bytes. Different locks
   * have different names; none is {@code .} or {@code ..}, or has characters that ZooKeeper refuses
   * in a path (such as emoji).
   */
  static String of(LockKey key) {
    return prefix(key.kind(), key.name());
  }

  /** Returns the path of a lock's node, below the path of the locks. */
  static String path(String root, LockKey key) {
    return root + "/" + of(key);
  }

  /**
   * Returns the prefix of the nodes of all locks whose names have this prefix; this works since
   * each byte is escaped on its own.
   */
  static String prefix(LockKind kind, String namePrefix) {
    String escaped = URLEncoder.encode(namePrefix, StandardCharsets.UTF_8)
        .replace("+", "%20")
        .replace("*", "%2A")
        .replace("%7E", "~");
    return kind.code() + "-" + escaped;
  }

  /** Returns the lock whose node has this name, or null if it is not a lock's. */
  static @Nullable LockKey key(LockKind kind, String node) {
    try {
      String escaped = node.substring(prefix(kind, "").length());
      LockKey key = new LockKey(kind, URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      return of(key).equals(node) ? key : null;
    } catch (IllegalArgumentException e) {
      // Not escaped as we do, or not a valid name of a lock: the node is not ours.
      return null;
    }
  }

  /** Whether a claim's node is a reader's. */
  static boolean isShared(Claim claim) {
    return claim.mode() instanceof Claim.Shared;
  }

  /**
   * Returns the name of an attempt's node, to which ZooKeeper appends the sequence number.
   *
   * @param permit the permit that it has or takes, or {@link #NO_PERMIT}
   */
  static String ofAttempt(Claim claim, int permit) {
    if (claim.mode() instanceof Claim.Permit permits) {
      return claim.ownerId() + label(permits, permit) + "-";
    }
    return claim.ownerId() + (isShared(claim) ? "s" : "-");
  }

  /** Returns the name of the mark that a node's grant with a minimum hold leaves. */
  static String ofMark(OwnNode node) {
    String mark = ofMark(node.number());
    return node.claim.mode() instanceof Claim.Permit permits
        ? mark + label(permits, node.permit())
        : mark;
  }

  /** Returns the name of the mark that a grant of a lock leaves. */
  static String ofMark(long number) {
    return MARK_PREFIX + HexFormat.of().toHexDigits(number);
  }

  /** Returns the number of the grant that left a mark. */
  static long numberOfMark(String mark) {
    int digits = MARK_PREFIX.length();
    return HexFormat.fromHexDigitsToLong(mark, digits, digits + 16);
  }

  private static String label(Claim.Permit permits, int permit) {
    return "p" + permits.of() + (permit == NO_PERMIT ? "" : "." + permit);
  }
}
