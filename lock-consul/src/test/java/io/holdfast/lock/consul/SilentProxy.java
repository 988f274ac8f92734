package io.holdfast.lock.consul;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A way to a server on which the connections that there are can die without a sign, as when a
 * router between forgets them; new ones work.
 */
final class SilentProxy implements AutoCloseable {
  private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicInteger generation = new AtomicInteger();
  private final String host;
  private final int port;

  SilentProxy(String host, int port) throws IOException {
    this.host = host;
    this.port = port;
    start(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  /** From now on nothing goes through the connections that are open. */
  void silence() {
    generation.incrementAndGet();
  }

  private void accept() {
    while (true) {
      try {
        Socket client = listener.accept();
        sockets.add(client);
        Socket server = new Socket(host, port);
        sockets.add(server);
        int born = generation.get();
        start(() -> pump(client, server, born));
        start(() -> pump(server, client, born));
      } catch (IOException e) {
        return; // Closed.
      }
    }
  }

  private void pump(Socket from, Socket to, int born) {
    byte[] buffer = new byte[8_192];
    try (from;
        to) {
      for (int n = from.getInputStream().read(buffer);
          n >= 0;
          n = from.getInputStream().read(buffer)) {
        if (born == generation.get()) {
          to.getOutputStream().write(buffer, 0, n);
        }
      }
    } catch (IOException e) {
      // Either side has ended.
    }
  }

  private static void start(Runnable body) {
    Thread thread = new Thread(body, "silent-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
