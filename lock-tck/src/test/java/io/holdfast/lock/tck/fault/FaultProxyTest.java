package io.holdfast.lock.tck.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.tck.fault.Link.Direction;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The proxy in front of a server that answers each line with the same line. */
class FaultProxyTest {
  private static final Duration QUIET = Duration.ofMillis(300);

  private EchoServer server;
  private FaultProxy proxy;

  @BeforeEach
  void open() throws IOException {
    server = new EchoServer();
    proxy = FaultProxy.open("127.0.0.1", server.port());
  }

  @AfterEach
  void close() throws IOException {
    proxy.close();
    server.close();
  }

  @Test
  void passesEverythingOnWhileThereIsNoFault() throws IOException {
    try (Client client = new Client(proxy.port())) {
      assertThat(client.ask("one")).isEqualTo("one");
      assertThat(client.ask("x".repeat(500_000))).hasSize(500_000);
      assertThat(proxy.connections()).isEqualTo(1);
    }
    eventually(() -> proxy.connections() == 0);
  }

  @Test
  void countsWhatIsSentInOneGoAsOneRequest() throws IOException {
    try (Client client = new Client(proxy.port());
        Client other = new Client(proxy.port())) {
      assertThat(client.ask("one")).isEqualTo("one");
      client.send("two\nthree");
      assertThat(client.receive()).isEqualTo("two");
      assertThat(client.receive()).isEqualTo("three");
      assertThat(other.ask("four")).isEqualTo("four");
      assertThat(proxy.requests()).isEqualTo(3);
    }
  }

  @Test
  void delaysRequests() throws Exception {
    try (Client client = new Client(proxy.port())) {
      proxy.delay(Direction.REQUESTS, Duration.ofHours(1));
      client.send("slow");
      client.assertSilent();
      assertThat(server.lines()).isEmpty();
      proxy.heal();
      assertThat(client.receive()).isEqualTo("slow");

      proxy.delay(Direction.REQUESTS, QUIET);
      long start = System.nanoTime();
      assertThat(client.ask("slow again")).isEqualTo("slow again");
      assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(QUIET.toNanos());
    }
  }

  @Test
  void delaysReplies() throws IOException {
    try (Client client = new Client(proxy.port())) {
      proxy.delay(Direction.REPLIES, QUIET);
      long start = System.nanoTime();
      client.send("slow");
      eventually(() -> server.lines().contains("slow"));
      assertThat(client.receive()).isEqualTo("slow");
      assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(QUIET.toNanos());
      proxy.delay(Direction.REPLIES, Duration.ZERO);
      assertThat(client.ask("fast")).isEqualTo("fast");
    }
  }

  @Test
  void holdsRequestsAndDeliversThemEvenIfTheirSenderIsGone() throws IOException {
    try (Client client = new Client(proxy.port())) {
      proxy.hold(Direction.REQUESTS);
      client.send("late");
      client.assertSilent();
    }
    assertThat(server.lines()).isEmpty();
    proxy.heal();
    eventually(() -> server.lines().contains("late"));
  }

  @Test
  void holdsReplies() throws IOException {
    try (Client client = new Client(proxy.port())) {
      proxy.hold(Direction.REPLIES);
      client.send("held");
      eventually(() -> server.lines().contains("held"));
      client.assertSilent();
      proxy.heal();
      assertThat(client.receive()).isEqualTo("held");
    }
  }

  @Test
  void aBlackHoleSwallowsBothWaysAndItsConnectionsAreResetWhenItHeals() throws IOException {
    try (Client client = new Client(proxy.port());
        Client idle = new Client(proxy.port())) {
      assertThat(idle.ask("before")).isEqualTo("before");
      proxy.blackhole();
      client.send("lost");
      client.assertSilent();
      assertThat(server.lines()).doesNotContain("lost");
      proxy.heal();
      client.assertReset();
      assertThat(idle.ask("after")).isEqualTo("after");
    }
    assertANewConnectionWorks();
  }

  @Test
  void dropsTheReplyOfTheNthRequestOnly() throws IOException {
    try (Client client = new Client(proxy.port());
        Client other = new Client(proxy.port())) {
      assertThat(client.ask("zero")).isEqualTo("zero");
      proxy.dropReply(3);
      assertThat(client.ask("one")).isEqualTo("one");
      assertThat(other.ask("two")).isEqualTo("two");
      client.send("three");
      client.assertReset();
      assertThat(server.lines()).contains("three");
      assertThat(other.ask("four")).isEqualTo("four");
    }
    assertANewConnectionWorks();
    assertThatIllegalArgumentException().isThrownBy(() -> proxy.dropReply(0));
  }

  @Test
  void dropsTheNthRequestOnlyWhichIsNotCarriedOut() throws IOException {
    try (Client client = new Client(proxy.port());
        Client other = new Client(proxy.port())) {
      proxy.dropRequest(2);
      assertThat(other.ask("one")).isEqualTo("one");
      client.send("two");
      client.assertReset();
      assertThat(other.ask("three")).isEqualTo("three");
      assertThat(server.lines()).containsExactly("one", "three");
    }
    assertThatIllegalArgumentException().isThrownBy(() -> proxy.dropRequest(0));
  }

  @Test
  void losesRequestsAloneOrRepliesAloneAndResetsWhatLostSomethingWhenItHeals() throws IOException {
    try (Client client = new Client(proxy.port());
        Client idle = new Client(proxy.port())) {
      proxy.lose(Direction.REQUESTS);
      client.send("lost");
      client.assertSilent();
      proxy.heal();
      client.assertReset();
      assertThat(server.lines()).doesNotContain("lost");
      proxy.lose(Direction.REPLIES);
      idle.send("carried out");
      eventually(() -> server.lines().contains("carried out"));
      idle.assertSilent();
      proxy.heal();
      idle.assertReset();
    }
  }

  @Test
  void shutsOneDirectionAndLeavesTheOtherOpen() throws IOException {
    try (Client client = new Client(proxy.port())) {
      proxy.delay(Direction.REPLIES, QUIET);
      client.send("one");
      eventually(() -> server.lines().contains("one"));
      proxy.shut(Direction.REQUESTS);
      assertThat(client.receive()).isEqualTo("one"); // The server is done, but for its answer.
      client.assertReset();
      proxy.heal();
    }
    try (Client client = new Client(proxy.port())) {
      assertThat(client.ask("two")).isEqualTo("two");
      proxy.shut(Direction.REPLIES);
      client.assertReset(); // Read as an end.
      client.send("three");
      eventually(() -> server.lines().contains("three"));
      assertANewConnectionWorks();
    }
  }

  @Test
  void silencesTheConnectionsThatAreOpenAndTakesNewOnes() throws Exception {
    try (Client client = new Client(proxy.port())) {
      assertThat(client.ask("one")).isEqualTo("one");
      proxy.silence();
      client.send("two");
      client.assertSilent();
      assertANewConnectionWorks();
      assertThat(server.lines()).doesNotContain("two");
      proxy.heal();
      client.assertReset();
    }
  }

  @Test
  void cutsOnceAndTakesNewConnections() throws IOException {
    try (Client client = new Client(proxy.port())) {
      assertThat(client.ask("one")).isEqualTo("one");
      proxy.cut();
      client.assertReset();
    }
    assertANewConnectionWorks();
    eventually(() -> server.connections() <= 1);
  }

  @Test
  void refusesUntilHealed() throws IOException {
    try (Client client = new Client(proxy.port())) {
      proxy.refuse();
      client.assertReset();
    }
    for (int i = 0; i < 3; i++) {
      assertThatExceptionOfType(IOException.class).isThrownBy(() -> {
        try (Client refused = new Client(proxy.port())) {
          refused.ask("refused");
        }
      });
    }
    assertThat(server.lines()).isEmpty();
    proxy.heal();
    assertANewConnectionWorks();
  }

  @Test
  void aServerThatIsDownLooksSo() throws IOException {
    server.close();
    assertThatExceptionOfType(IOException.class).isThrownBy(() -> {
      try (Client client = new Client(proxy.port())) {
        client.ask("nobody");
      }
    });
  }

  @Test
  void closesWhatItWasGivenLastFirst() {
    List<String> closed = new CopyOnWriteArrayList<>();
    proxy.onClose(() -> closed.add("first"));
    proxy.onClose(() -> {
      closed.add("second");
      throw new IOException("does not matter");
    });
    proxy.close();
    proxy.close();
    assertThat(closed).containsExactly("second", "first");
  }

  private void assertANewConnectionWorks() throws IOException {
    try (Client next = new Client(proxy.port())) {
      assertThat(next.ask("next")).isEqualTo("next");
    }
  }

  private static void eventually(BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(10));
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private static final class Client implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;
    private final OutputStream out;

    Client(int port) throws IOException {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setSoTimeout(10_000);
      in = new BufferedReader(
          new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
      out = socket.getOutputStream();
    }

    String ask(String line) throws IOException {
      send(line);
      return receive();
    }

    void send(String line) throws IOException {
      out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    String receive() throws IOException {
      String line = in.readLine();
      if (line == null) {
        throw new IOException("The connection was closed");
      }
      return line;
    }

    void assertSilent() throws IOException {
      socket.setSoTimeout((int) QUIET.toMillis());
      assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(in::read);
      socket.setSoTimeout(10_000);
    }

    void assertReset() {
      assertThatExceptionOfType(IOException.class)
          .isThrownBy(this::receive)
          .isNotInstanceOf(SocketTimeoutException.class);
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static final class EchoServer {
    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final AtomicInteger connections = new AtomicInteger();

    EchoServer() throws IOException {
      background(() -> {
        while (true) {
          Socket socket = listener.accept();
          background(() -> serve(socket));
        }
      });
    }

    int port() {
      return listener.getLocalPort();
    }

    List<String> lines() {
      return lines;
    }

    int connections() {
      return connections.get();
    }

    void close() throws IOException {
      listener.close();
    }

    private void serve(Socket socket) throws IOException {
      connections.incrementAndGet();
      try (socket) {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          lines.add(line);
          socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        }
      } finally {
        connections.decrementAndGet();
      }
    }

    private interface Body {
      void run() throws IOException;
    }

    private static void background(Body body) {
      Thread thread = new Thread(() -> {
        try {
          body.run();
        } catch (IOException e) {
          // The test is over, or the connection was broken by it.
        }
      });
      thread.setDaemon(true);
      thread.start();
    }
  }
}
