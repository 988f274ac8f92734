package io.holdfast.lock.tck.fault;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on the loopback interface that breaks on demand; it knows nothing of the protocol
 * that goes through it.
 *
 * <p>Each connection has two pipes, and each pipe two threads: one reads and stamps what it read,
 * one writes what is due. One lock guards the faults and all pipes; nothing blocks under it.
 */
public final class FaultProxy implements Link {
  private static final int CONNECT_TIMEOUT_MILLIS = 5_000;
  private static final int CHUNK_BYTES = 16 * 1024;

  /** What a pipe holds unread at most, so that a sender feels a stopped receiver. */
  private static final int PIPE_CHUNKS_MAX = 64;

  private volatile InetSocketAddress server;
  private final ServerSocket listener;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // All below: under the lock.
  private final Set<Connection> connections = new LinkedHashSet<>();
  private final Map<Direction, Long> delayNanos = new EnumMap<>(Direction.class);
  private final Set<Direction> held = EnumSet.noneOf(Direction.class);
  private boolean blackhole;
  private boolean refusing;
  private boolean closed;
  private int requestsToDrop;
  private long requests;
  private final Deque<AutoCloseable> closeables = new ArrayDeque<>();

  private FaultProxy(InetSocketAddress server) throws IOException {
    this.server = server;
    this.listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
  }

  /**
   * Opens a proxy in front of a server, on a free port.
   *
   * @throws UncheckedIOException there is no free port
   */
  public static FaultProxy open(String serverHost, int serverPort) {
    try {
      FaultProxy proxy = new FaultProxy(new InetSocketAddress(serverHost, serverPort));
      start("accept", proxy.listener.getLocalPort(), proxy::accept);
      return proxy;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The address for clients, as text. */
  public String host() {
    return listener.getInetAddress().getHostAddress();
  }

  /** The port for clients. */
  public int port() {
    return listener.getLocalPort();
  }

  /** How many connections are open. */
  public int connections() {
    return locked(connections::size);
  }

  /** Leads new connections to another server; those that are open stay where they are. */
  public void moveTo(String serverHost, int serverPort) {
    server = new InetSocketAddress(serverHost, serverPort);
  }

  @Override
  public void delay(Direction direction, Duration delay) {
    change(() -> delayNanos.put(direction, delay.toNanos()));
  }

  @Override
  public void hold(Direction direction) {
    change(() -> held.add(direction));
  }

  @Override
  public void blackhole() {
    change(() -> blackhole = true);
  }

  @Override
  public void dropReply(int n) {
    if (n < 1) {
      throw new IllegalArgumentException("Requests are counted from 1, not from " + n);
    }
    change(() -> requestsToDrop = n);
  }

  @Override
  public void cut() {
    reset(locked(() -> List.copyOf(connections)));
  }

  @Override
  public void refuse() {
    change(() -> refusing = true);
    cut();
  }

  @Override
  public void heal() {
    List<Connection> broken = locked(() -> {
      delayNanos.clear();
      held.clear();
      blackhole = false;
      refusing = false;
      requestsToDrop = 0;
      changed.signalAll();
      return connections.stream().filter(c -> c.lostBytes).toList();
    });
    reset(broken);
  }

  @Override
  public long requests() {
    return locked(() -> requests);
  }

  @Override
  public void onClose(AutoCloseable resource) {
    change(() -> closeables.addFirst(resource));
  }

  @Override
  public void close() {
    change(() -> closed = true);
    closeQuietly(listener);
    cut();
    for (AutoCloseable resource : locked(() -> List.copyOf(closeables))) {
      closeQuietly(resource);
    }
    change(closeables::clear);
  }

  private void accept() {
    while (true) {
      Socket client;
      try {
        client = listener.accept();
      } catch (IOException e) {
        return; // closed
      }
      if (locked(() -> refusing || closed)) {
        reset(client);
      } else {
        start("connect", port(), () -> connect(client));
      }
    }
  }

  private void connect(Socket client) {
    Socket upstream = new Socket();
    try {
      upstream.connect(server, CONNECT_TIMEOUT_MILLIS);
      upstream.setTcpNoDelay(true);
      client.setTcpNoDelay(true);
    } catch (IOException e) {
      closeQuietly(upstream);
      reset(client);
      return;
    }
    Connection connection = new Connection(client, upstream);
    boolean admitted = locked(() -> !refusing && !closed && connections.add(connection));
    if (admitted) {
      connection.start();
    } else {
      reset(List.of(connection));
    }
  }

  private void reset(List<Connection> broken) {
    for (Connection connection : broken) {
      connection.reset();
    }
  }

  private static void reset(Socket socket) {
    try {
      socket.setSoLinger(true, 0); // close() sends RST
    } catch (SocketException e) {
      // It is closed already.
    }
    closeQuietly(socket);
  }

  private static void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      // Nothing hangs on it.
    }
  }

  private static Thread start(String what, int port, Runnable body) {
    Thread thread = new Thread(body, "fault-proxy-" + port + "-" + what);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void change(Runnable change) {
    locked(() -> {
      change.run();
      changed.signalAll();
      return true;
    });
  }

  private <T> T locked(Supplier<T> body) {
    lock.lock();
    try {
      return body.get();
    } finally {
      lock.unlock();
    }
  }

  /** A client's connection and ours to the server. */
  private final class Connection {
    private final Socket client;
    private final Socket upstream;
    // All below: under the lock.
    private boolean lostBytes;
    private boolean gone;
    private boolean inRequest;
    private boolean dropsReply;
    private int pipesOpen = 2;

    Connection(Socket client, Socket upstream) {
      this.client = client;
      this.upstream = upstream;
    }

    void start() {
      new Pipe(this, Direction.REQUESTS, client, upstream).start();
      new Pipe(this, Direction.REPLIES, upstream, client).start();
    }

    void reset() {
      change(() -> {
        gone = true;
        connections.remove(this);
      });
      FaultProxy.reset(client);
      FaultProxy.reset(upstream);
    }

    /** Under the lock: something arrived from that side. Whether it is to be thrown away. */
    boolean arrived(Direction direction) {
      if (blackhole) {
        lostBytes = true;
        return true;
      }
      if (direction == Direction.REPLIES) {
        inRequest = false;
        return dropsReply;
      }
      if (!inRequest) {
        inRequest = true;
        requests++;
        if (requestsToDrop > 0 && --requestsToDrop == 0) {
          dropsReply = true;
        }
      }
      return false;
    }

    /** Under the lock: one pipe has delivered everything and its sender is done. */
    boolean pipeEnded() {
      pipesOpen--;
      return pipesOpen == 0;
    }
  }

  /** What one side of a connection sends the other, on its way. */
  private final class Pipe {
    private static final class Chunk {
      private final byte[] bytes;
      private final long arrivedNanos = System.nanoTime();

      Chunk(byte[] bytes) {
        this.bytes = bytes;
      }
    }

    private final Connection connection;
    private final Direction direction;
    private final Socket from;
    private final Socket to;
    // Both: under the lock.
    private final Deque<Chunk> chunks = new ArrayDeque<>();
    private boolean ended;

    Pipe(Connection connection, Direction direction, Socket from, Socket to) {
      this.connection = connection;
      this.direction = direction;
      this.from = from;
      this.to = to;
    }

    void start() {
      FaultProxy.start("read-" + direction, port(), this::read);
      FaultProxy.start("write-" + direction, port(), this::write);
    }

    private void read() {
      byte[] buffer = new byte[CHUNK_BYTES];
      try {
        for (int n = from.getInputStream().read(buffer);
            n >= 0;
            n = from.getInputStream().read(buffer)) {
          if (!pass(new Chunk(Arrays.copyOf(buffer, n)))) {
            return;
          }
        }
      } catch (IOException e) {
        // The sender is gone. What it sent before is still on its way.
      }
      change(() -> ended = true);
    }

    /** Whether to go on reading. */
    private boolean pass(Chunk chunk) {
      boolean dropsReply;
      lock.lock();
      try {
        boolean thrownAway = connection.arrived(direction);
        if (!thrownAway) {
          while (chunks.size() >= PIPE_CHUNKS_MAX && !connection.gone) {
            changed.awaitUninterruptibly();
          }
          chunks.add(chunk);
          changed.signalAll();
        }
        dropsReply = thrownAway && connection.dropsReply;
        if (connection.gone) {
          return false;
        }
      } finally {
        lock.unlock();
      }
      if (dropsReply) {
        connection.reset();
      }
      return !dropsReply;
    }

    private void write() {
      try {
        for (Chunk chunk = next(); chunk != null; chunk = next()) {
          to.getOutputStream().write(chunk.bytes);
        }
        if (locked(() -> connection.gone)) {
          return;
        }
        to.shutdownOutput();
      } catch (IOException e) {
        connection.reset();
        return;
      }
      if (locked(connection::pipeEnded)) {
        connection.reset();
      }
    }

    /** Waits for the next chunk that is due; null: there is none any more. */
    private @Nullable Chunk next() {
      lock.lock();
      try {
        while (true) {
          if (connection.gone || (ended && chunks.isEmpty())) {
            return null;
          }
          Chunk first = chunks.peek();
          if (first == null || held.contains(direction)) {
            changed.awaitUninterruptibly();
            continue;
          }
          long waitNanos =
              first.arrivedNanos + delayNanos.getOrDefault(direction, 0L) - System.nanoTime();
          if (waitNanos <= 0) {
            changed.signalAll(); // there is room again
            return chunks.remove();
          }
          await(waitNanos);
        }
      } finally {
        lock.unlock();
      }
    }

    @SuppressWarnings("WaitNotInLoop") // the loop is the caller's
    private void await(long nanos) {
      try {
        boolean unused = changed.await(nanos, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        throw new IllegalStateException("Nobody interrupts threads of the proxy", e);
      }
    }
  }
}
