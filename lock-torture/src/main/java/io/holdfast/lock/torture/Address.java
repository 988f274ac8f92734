package io.holdfast.lock.torture;

import java.util.Arrays;
import java.util.List;

/** A host and a port. */
record Address(String host, int port) {
  static final String LOOPBACK = "127.0.0.1";

  static Address local(int port) {
    return new Address(LOOPBACK, port);
  }

  /** Parses the text that {@link #join} made. */
  static List<Address> split(String addresses) {
    return Arrays.stream(addresses.split(",", -1))
        .map(address -> {
          int colon = address.lastIndexOf(':');
          return new Address(
              address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        })
        .toList();
  }

  static String join(List<Address> addresses) {
    return String.join(",", addresses.stream().map(Address::toString).toList());
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
