package io.holdfast.lock.redis.quorum;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import redis.clients.jedis.HostAndPort;

/**
 * A way to a server on which certain requests arrive late: after those who sent them gave up and
 * closed their connection.
 */
final class LateWay implements AutoCloseable {
  private static final int CHUNK_BYTES = 64 * 1024;

  private final HostAndPort server;
  private final ServerSocket listening;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private String what = ""; // under the monitor
  private boolean holds; // under the monitor
  private int held; // under the monitor

  LateWay(HostAndPort server) throws IOException {
    this.server = server;
    listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  HostAndPort address() {
    return new HostAndPort(listening.getInetAddress().getHostAddress(), listening.getLocalPort());
  }

  /** Holds the next request in which this text is, and no other. */
  synchronized void holdNext(String text) {
    what = text;
    holds = true;
  }

  synchronized boolean isHolding() {
    return held > 0;
  }

  /** Lets what was held arrive. */
  synchronized void deliver() {
    holds = false;
    notifyAll();
  }

  private synchronized void await(String chunk) throws InterruptedException {
    if (what.isEmpty() || !chunk.contains(what)) {
      return;
    }
    what = "";
    held++;
    while (holds) {
      wait();
    }
    held--;
  }

  private void accept() throws IOException {
    while (true) {
      Socket client = listening.accept();
      Socket onward = new Socket(server.getHost(), server.getPort());
      client.setTcpNoDelay(true);
      onward.setTcpNoDelay(true);
      sockets.addAll(List.of(client, onward));
      start(() -> carry(client, onward, true));
      start(() -> carry(onward, client, false));
    }
  }

  private void carry(Socket from, Socket to, boolean isRequests)
      throws IOException, InterruptedException {
    byte[] chunk = new byte[CHUNK_BYTES];
    for (int count = from.getInputStream().read(chunk);
        count >= 0;
        count = from.getInputStream().read(chunk)) {
      if (isRequests) {
        await(new String(chunk, 0, count, StandardCharsets.ISO_8859_1));
      }
      to.getOutputStream().write(chunk, 0, count);
    }
    to.close();
  }

  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  private static void start(Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
      } catch (IOException | InterruptedException e) {
        // One of its sockets was closed: that is how it ends.
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    deliver();
    listening.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
