package io.holdfast.lock.internal;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** The name that this machine calls itself. */
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
      // The name only helps a reader; a machine without one is no reason not to lock.
      return "unknown host";
    }
  }
}
