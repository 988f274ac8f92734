package io.holdfast.lock.zookeeper;

import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A client of the commands by which a server tells about itself. */
final class FourLetters {
  private static final int TIMEOUT_MILLIS = 10_000;

  private FourLetters() {}

  static String ask(String host, int port, String command) throws IOException {
    try (Socket socket = new Socket(host, port)) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** The number of writes that the server has made: it counts them. */
  static long writes(ServerContainer server) throws IOException {
    return ask(server.host(), server.port(), "srvr")
        .lines()
        .filter(line -> line.startsWith("Zxid: 0x"))
        .mapToLong(line -> Long.parseLong(line.substring("Zxid: 0x".length()), 16))
        .findFirst()
        .orElseThrow();
  }

  /** The number of requests, pings included, that the server has got. */
  static long packets(ServerContainer server) throws IOException {
    return number(server, "zk_packets_received");
  }

  /** A number that the server counts. */
  static long number(ServerContainer server, String name) throws IOException {
    return ask(server.host(), server.port(), "mntr")
        .lines()
        .filter(line -> line.startsWith(name + "\t"))
        .mapToLong(line -> (long) Double.parseDouble(line.split("\t", -1)[1]))
        .findFirst()
        .orElseThrow();
  }

  /** The number of watched paths that begin so. */
  static long watchesOn(ServerContainer server, String prefix) throws IOException {
    return ask(server.host(), server.port(), "wchp")
        .lines()
        .filter(line -> line.startsWith(prefix))
        .count();
  }
}
