package io.holdfast.lock.internal;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** The name of this machine. */
final class HostName {
  private static final int LENGTH_MAX = 60;

  private HostName() {}

  static String get() {
    String name = System.getenv("HOSTNAME");
    if (name == null || name.isBlank()) {
      name = ask();
    }
    return name.length() <= LENGTH_MAX ? name : name.substring(0, LENGTH_MAX);
  }

  private static String ask() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      // The name is for human readers only; a machine without one can still take locks.
      return "unknown host";
    }
  }
}
