package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** A server that has no version that scripts can see, as Redis before 7.0. */
class OldServerTest {

  @Test
  void aServerThatIsTooOldIsRefused() throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> acceptAll(listener), "old-server");
      server.setDaemon(true);
      server.start();
      try (RedisClient redis =
          RedisAccess.client(new HostAndPort("127.0.0.1", listener.getLocalPort()), 2)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> RedisLocks.builder(redis).build().close())
            .withMessageContaining("7.0");
      }
    }
  }

  private static void acceptAll(ServerSocket listener) {
    try {
      while (true) {
        Socket socket = listener.accept();
        Thread thread = new Thread(() -> answer(socket), "old-server-connection");
        thread.setDaemon(true);
        thread.start();
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  private static void answer(Socket socket) {
    try (socket;
        BufferedReader in = new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        OutputStream out = socket.getOutputStream()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        int parts = Integer.parseInt(line.substring(1));
        String command = "";
        for (int i = 0; i < parts; i++) {
          String length = in.readLine();
          String part = in.readLine();
          if (length != null && part != null && i == 0) {
            command = part;
          }
        }
        String reply = switch (command) {
          case "EVALSHA" -> ":0\r\n";
          case "HELLO" -> "-ERR unknown command 'HELLO'\r\n";
          default -> "+OK\r\n";
        };
        out.write(reply.getBytes(StandardCharsets.US_ASCII));
        out.flush();
      }
    } catch (IOException e) {
      // The client went.
    }
  }
}
